import { type JsonObject, type ToolDefinition, type ToolMessage, textOf } from "../../../../core/turn.ts";
import type { ReadArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { type Argument, alike, describedAs } from "./fit-tool.ts";
import { PATH } from "./path-names.ts";
import { quoteShell } from "./quote-shell.ts";
import { failureOf, saysMissing } from "./results/failure.ts";
import { fileText } from "./results/file-text.ts";
import { shellOutput } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

const FIRST = ["offset", "startLine", "lineStart", "startLineOneIndexed"];
const COUNT = ["limit", "lineCount", "maxLines"];
const LAST = ["endLine", "lineEnd", "endLineOneIndexedInclusive"];
/** The line count for a tool that requires an end, when the whole file is wanted. */
const WHOLE = 100_000;

export const READ: readonly Route<ReadArgs>[] = [
  {
    // OpenCode, Claude Code and Continue; Qwen Code, Gemini CLI, Cline and Copilot; others.
    tools: ["read", "read_file", "view_file", "open_file", "view"],
    args: (request, tool) => [
      { names: PATH, value: request.path, use: "needed" },
      ...range(request, tool),
      { names: ["shouldReadEntireFile"], value: !isRanged(request), use: "filler" },
      { names: ["explanation", "description"], value: `Read ${request.path}`, use: "filler" },
    ],
    results: (request, said, given) => [
      readResult(
        request,
        said,
        isCovered(request, (names) => hasOne(given, names)),
      ),
    ],
  },
  {
    tools: SHELL_TOOLS,
    args: (request, tool) => shellArguments({ command: readCommand(request) }, tool),
    results: (request, said) => {
      const { output, exitCode } = shellOutput(said);
      const text = { type: "text" as const, text: output };
      return [readResult(request, { ...said, content: [text], isError: exitCode !== 0 }, isRanged(request))];
    },
  },
];

/** A range from the end of the file is not passed on: the backend cuts the whole file itself. */
const isRanged = ({ offset = 1, limit }: ReadArgs): boolean => offset >= 0 && (offset > 1 || limit !== undefined);

/** A range is requested completely or not at all, since half of it could not be cut correctly. */
const isCovered = (request: ReadArgs, has: (names: readonly string[]) => boolean): boolean =>
  isRanged(request) &&
  ((request.offset ?? 1) <= 1 || has(FIRST)) &&
  (request.limit === undefined || has([...COUNT, ...LAST]));

const hasOne = (given: JsonObject, names: readonly string[]): boolean =>
  Object.keys(given).some((key) => names.some((name) => alike(key, name)));

function range(request: ReadArgs, tool: ToolDefinition): readonly Argument[] {
  const isAsked = isCovered(request, (names) => describedAs(tool, names) !== undefined);
  const first = isAsked ? Math.max(1, request.offset ?? 1) : 1;
  const count = (isAsked ? request.limit : undefined) ?? WHOLE;
  const isFromZero = /\b(?:0|zero)-?\s?(?:based|indexed)\b/i.test(describedAs(tool, FIRST) ?? "");
  const isEnding = isAsked && request.limit !== undefined;
  return [
    { names: FIRST, value: isFromZero ? first - 1 : first, use: isAsked ? "offered" : "filler" },
    { names: COUNT, value: count, use: isEnding ? "offered" : "filler" },
    { names: LAST, value: first - 1 + count, use: isEnding ? "offered" : "filler" },
  ];
}

function readCommand(request: ReadArgs): string {
  const path = quoteShell(request.path);
  if (!isRanged(request)) return `cat -- ${path}`;
  const first = Math.max(1, request.offset ?? 1);
  return `sed -n '${first},${request.limit === undefined ? "$" : first - 1 + request.limit}p' -- ${path}`;
}

function readResult(request: ReadArgs, said: ToolMessage, rangeApplied: boolean): ExecResult {
  const { path } = request;
  const text = textOf(said.content);
  const failure = said.isError ? (failureOf(said) ?? text) : unmarkedFailure(path, text);
  if (failure !== undefined) {
    return saysMissing(failure)
      ? { case: "readResult", value: { result: { case: "fileNotFound", value: { path } } } }
      : { case: "readResult", value: { result: { case: "error", value: { path, error: failure } } } };
  }
  const image = said.content.find((part) => part.type === "image");
  const { content, totalLines, isTruncated } = fileText(text);
  const before = rangeApplied ? Math.max(1, request.offset ?? 1) - 1 : 0;
  const value = {
    path,
    output: image ? { case: "data" as const, value: image.data } : { case: "content" as const, value: content },
    totalLines: totalLines ?? before + (content === "" ? 0 : content.replace(/\n$/, "").split("\n").length),
    fileSize: BigInt(image ? image.data.length : Buffer.byteLength(content)),
    truncated: isTruncated,
    rangeApplied,
  };
  return { case: "readResult", value: { result: { case: "success", value } } };
}

/** Detects an unmarked error: a short line about a missing file that names this file. */
function unmarkedFailure(path: string, text: string): string | undefined {
  const [line = ""] = text.trim().split("\n", 1);
  const name = path.split(/[\\/]/).at(-1) ?? path;
  const speaks =
    /^(?:<tool_use_error>|error\b|(?:file )?not ?found\b|file does not exist\b|\w+: .*: no such file\b)/s.test(
      line.toLowerCase(),
    );
  return speaks && saysMissing(line) && name !== "" && line.includes(name) ? line : undefined;
}
