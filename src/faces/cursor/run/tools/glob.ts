import { textOf } from "../../../../core/turn.ts";
import { readExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { nativeRequest } from "../../../../wire/agent/exec/native-exec.ts";
import { type CursorTool, objectSchema, outcome, textArg, toolCall } from "./tool.ts";

/** Finds files by name. The protocol has no exec for it: a search for any line, limited to the pattern, lists the files. */
export const globTool: CursorTool = {
  definition: {
    name: "glob",
    description: "Finds files by a glob pattern, such as **/*.ts. Empty files are not found.",
    schema: objectSchema(
      {
        pattern: { type: "string" },
        path: { type: "string", description: "The folder to look in; the workspace if absent" },
      },
      "pattern",
    ),
  },
  listedAs: ["glob_tool_call"],
  isReadOnly: true,
  display: ({ pattern, path }, callId) =>
    toolCall(callId, { case: "globToolCall", value: { args: argsOf(pattern, path) } }),
  async run(args, site) {
    const pattern = textArg(args, "pattern");
    const path = typeof args["path"] === "string" ? args["path"] : undefined;
    const request = {
      pattern: "^",
      glob: pattern,
      outputMode: "files_with_matches",
      ...(path !== undefined && { path }),
    };
    const reply = await site.exec(nativeRequest("grep", { ...request, toolCallId: site.callId }));
    const { content, isError } = readExecReply(reply);
    const text = textOf(content);
    const files = isError || text === "" ? [] : text.split("\n");
    const result = isError
      ? { case: "error" as const, value: { error: text } }
      : { case: "success" as const, value: { pattern, path: path ?? "", files, totalFiles: files.length } };
    const display = toolCall(site.callId, {
      case: "globToolCall",
      value: { args: argsOf(pattern, path), result: { result } },
    });
    return outcome(text === "" ? "No file matches." : text, isError, display);
  },
};

const argsOf = (pattern: unknown, path: unknown) => ({
  globPattern: typeof pattern === "string" ? pattern : "",
  ...(typeof path === "string" && { targetDirectory: path }),
});
