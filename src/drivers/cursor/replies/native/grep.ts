import type { ToolDefinition } from "../../../../core/turn.ts";
import type { GrepArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { type Argument, alike, describedAs } from "./fit-tool.ts";
import { PLACE } from "./path-names.ts";
import { quoteShell } from "./quote-shell.ts";
import { failureOf } from "./results/failure.ts";
import { grepResult } from "./results/grep-result.ts";
import { plainText } from "./results/reminders.ts";
import { shellOutput } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

export const GREP: readonly Route<GrepArgs>[] = [
  {
    // OpenCode and Claude Code; Qwen Code, Gemini CLI and Continue; Cline; others.
    tools: ["grep", "grep_search", "search_file_content", "search_files", "ripgrep", "grep_files", "search_code"],
    args: (request, tool) => [
      { names: ["pattern", "regex", "query", "regexp"], value: patternFor(request, tool), use: "needed" },
      ...options(request),
    ],
    results: (request, said) => {
      const error = failureOf(said);
      return [error === undefined ? grepResult(request, plainText(said)) : grepError(error)];
    },
  },
  {
    tools: SHELL_TOOLS,
    args: (request, tool) => shellArguments({ command: grepCommand(request), description: "Search files" }, tool),
    results: (request, said) => {
      const { output, exitCode } = shellOutput({ ...said, isError: false });
      const isEmpty = output.trim() === "" || /^\(?(?:no output|exit code:? 1)\)?$/i.test(output.trim());
      // Exit code 1 means that nothing was found.
      if (isEmpty && exitCode <= 1 && (exitCode === 1 || !said.isError)) return [grepResult(request, "")];
      const hasFailed = exitCode > 1 || (said.isError && exitCode === 0);
      return [
        hasFailed || /^grep: /.test(output) ? grepError(output || "The search failed.") : grepResult(request, output),
      ];
    },
  },
];

const IGNORE_CASE = ["-i", "caseInsensitive", "ignoreCase"];
const HEED_CASE = ["caseSensitive"];
/** The tools of Qwen Code and Gemini CLI, which always ignore case and do not always use ripgrep. */
const IGNORING = ["grep_search", "search_file_content"];

/** Puts the case flag into the pattern if the tool has no option for it. Nearly all of these tools are ripgrep. */
function patternFor({ pattern, caseInsensitive }: GrepArgs, tool: ToolDefinition): string {
  const isTold = describedAs(tool, [...IGNORE_CASE, ...HEED_CASE]) !== undefined;
  const isIgnoring = IGNORING.some((name) => alike(name, tool.name));
  return caseInsensitive && !isTold && !isIgnoring ? `(?i)${pattern}` : pattern;
}

/** Returns the options. Most tools support only a few. */
function options(request: GrepArgs): readonly Argument[] {
  const { path = "", glob = "", outputMode, type = "", caseInsensitive, multiline, headLimit, context } = request;
  const offer = (names: readonly string[], value: Argument["value"] | undefined): readonly Argument[] =>
    value === undefined || value === "" ? [] : [{ names, value, use: "offered" }];
  return [
    ...offer(PLACE, path),
    { names: PLACE, value: ".", use: "filler" },
    ...offer(["include", "glob", "includePattern", "filePattern"], glob),
    // Cursor's tool shows the matches by default; Claude Code's shows only the files.
    ...offer(["outputMode"], outputMode || "content"),
    ...offer(["-n"], true),
    ...offer(IGNORE_CASE, caseInsensitive),
    { names: HEED_CASE, value: !caseInsensitive, use: caseInsensitive === undefined ? "filler" : "offered" },
    { names: ["isRegexp"], value: true, use: "offered" },
    ...offer(["type"], type),
    ...offer(["multiline"], multiline),
    ...offer(["headLimit", "maxResults", "limit"], headLimit),
    ...offer(["-C", "context"], context),
    ...offer(["-B"], request.contextBefore),
    ...offer(["-A"], request.contextAfter),
    { names: ["explanation", "description"], value: `Search for ${request.pattern}`, use: "filler" },
  ];
}

function grepCommand(request: GrepArgs): string {
  const { pattern, path, glob, outputMode, caseInsensitive, context = 0 } = request;
  const { contextBefore = context, contextAfter = context } = request;
  const form = outputMode === "files_with_matches" ? "l" : outputMode === "count" ? "c" : "n";
  return [
    `grep -rIEH${form}${caseInsensitive ? "i" : ""}`,
    ...(contextBefore > 0 ? [`-B ${contextBefore}`] : []),
    ...(contextAfter > 0 ? [`-A ${contextAfter}`] : []),
    "--exclude-dir=.git --exclude-dir=node_modules",
    // `--include` matches names, not paths.
    ...(glob ? [`--include=${quoteShell(glob.split("/").at(-1) ?? glob)}`] : []),
    `-e ${quoteShell(pattern)} -- ${quoteShell(path || ".")}`,
  ].join(" ");
}

const grepError = (error: string): ExecResult => ({
  case: "grepResult",
  value: { result: { case: "error", value: { error } } },
});
