import type { JsonObject } from "../../../../core/turn.ts";
import type { ToolCall } from "../../../../gen/agent/v1/tool_call_pb.ts";
import type { ExecReply } from "../../../../wire/agent/exec/exec-result.ts";
import { nativeTool } from "./native.ts";
import { objectSchema, PATH, pick, resultOf, textArg, toolCall } from "./tool.ts";

type Tool = ToolCall["tool"];
type Member = "deleteToolCall" | "lsToolCall" | "grepToolCall" | "fetchToolCall";
type Reply = "deleteResult" | "lsResult" | "grepResult" | "fetchResult";

/** The display of these tools has the exec's own result. */
const withResult =
  (member: Member, reply: Reply) =>
  (display: ToolCall, answer: ExecReply): ToolCall => {
    const result = resultOf(answer, reply);
    if (display.tool.case !== member || !result) return display;
    return toolCall(display.toolCallId ?? "", { case: member, value: { ...display.tool.value, result } } as Tool & {
      case: Member;
    });
  };

export const deleteTool = nativeTool({
  definition: { name: "delete", description: "Deletes a file.", schema: objectSchema({ path: PATH }, "path") },
  exec: "delete",
  listedAs: ["delete_tool_call"],
  isReadOnly: false,
  request: (args) => ({ path: textArg(args, "path") }),
  shown: withResult("deleteToolCall", "deleteResult"),
});

export const lsTool = nativeTool({
  definition: {
    name: "ls",
    description: "Lists the files and folders of a folder.",
    schema: objectSchema(
      { path: PATH, ignore: { type: "array", items: { type: "string" }, description: "Glob patterns to leave out" } },
      "path",
    ),
  },
  exec: "ls",
  listedAs: ["ls_tool_call"],
  isReadOnly: true,
  request: (args) => ({ path: textArg(args, "path"), ...pick(args, "ignore") }),
  shown: withResult("lsToolCall", "lsResult"),
});

const GREP: JsonObject = {
  pattern: { type: "string", description: "A regular expression, as ripgrep takes it" },
  path: { type: "string", description: "The file or folder to search; the workspace if absent" },
  glob: { type: "string", description: "Which files to search, such as *.ts" },
  output_mode: { type: "string", enum: ["content", "files_with_matches", "count"] },
  case_insensitive: { type: "boolean" },
  multiline: { type: "boolean" },
  context: { type: "integer", description: "Lines around each match" },
  head_limit: { type: "integer", description: "How many lines or files, at most" },
};

export const grepTool = nativeTool({
  definition: {
    name: "grep",
    description: "Searches the content of files.",
    schema: objectSchema(GREP, "pattern"),
  },
  exec: "grep",
  listedAs: ["grep_tool_call"],
  isReadOnly: true,
  request: (args) => ({
    output_mode: "content",
    ...pick(args, ...Object.keys(GREP)),
    pattern: textArg(args, "pattern"),
  }),
  shown: withResult("grepToolCall", "grepResult"),
});

export const fetchTool = nativeTool({
  definition: {
    name: "fetch",
    description: "Fetches a page from the internet.",
    schema: objectSchema({ url: { type: "string" } }, "url"),
  },
  exec: "fetch",
  listedAs: ["fetch_tool_call", "web_fetch_tool_call"],
  isReadOnly: true,
  request: (args) => ({ url: textArg(args, "url") }),
  shown: withResult("fetchToolCall", "fetchResult"),
});

export const diagnosticsTool = nativeTool({
  definition: {
    name: "diagnostics",
    description: "Returns the errors and warnings of the editor for a file.",
    schema: objectSchema({ path: PATH }, "path"),
  },
  exec: "diagnostics",
  listedAs: ["read_lints_tool_call"],
  isReadOnly: true,
  request: (args) => ({ path: textArg(args, "path") }),
  shown: (display, reply, text) => {
    if (display.tool.case !== "readLintsToolCall") return display;
    const found = resultOf(reply, "diagnosticsResult")?.result;
    const result =
      found?.case === "success"
        ? {
            case: "success" as const,
            value: {
              totalFiles: 1,
              totalDiagnostics: found.value.diagnostics.length,
              fileDiagnostics: [
                {
                  path: found.value.path,
                  diagnostics: found.value.diagnostics,
                  diagnosticsCount: found.value.diagnostics.length,
                },
              ],
            },
          }
        : { case: "error" as const, value: { errorMessage: text } };
    return toolCall(display.toolCallId ?? "", {
      case: "readLintsToolCall",
      value: { args: { paths: display.tool.value.args?.paths ?? [] }, result: { result } },
    });
  },
});
