import { nativeTool } from "./native.ts";
import { objectSchema, PATH, resultOf, textArg, toolCall } from "./tool.ts";

export const writeTool = nativeTool({
  definition: {
    name: "write",
    description: "Creates a file, or replaces the whole content of one. Prefer edit for a file that exists.",
    schema: objectSchema({ path: PATH, content: { type: "string" } }, "path", "content"),
  },
  exec: "write",
  listedAs: ["edit_tool_call"],
  isReadOnly: false,
  request: (args) => ({
    path: textArg(args, "path"),
    fileText: textArg(args, "content"),
    streamContent: textArg(args, "content"),
  }),
  shown: (display, reply, text) => {
    if (display.tool.case !== "editToolCall") return display;
    const { args } = display.tool.value;
    const path = args?.path ?? "";
    const isDone = resultOf(reply, "writeResult")?.result.case === "success";
    const result = isDone
      ? { case: "success" as const, value: { path, afterFullFileContent: args?.streamContent ?? "" } }
      : { case: "error" as const, value: { path, error: text } };
    return toolCall(display.toolCallId ?? "", {
      case: "editToolCall",
      value: { ...(args && { args }), result: { result } },
    });
  },
});
