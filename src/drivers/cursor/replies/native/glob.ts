import type { GrepArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { PLACE } from "./path-names.ts";
import { quoteShell } from "./quote-shell.ts";
import { failureOf } from "./results/failure.ts";
import { fileList } from "./results/file-list.ts";
import { plainText } from "./results/reminders.ts";
import { shellOutput, withoutExitLine } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

/** A search without a pattern: it finds files by name. */
export const GLOB: readonly Route<GrepArgs>[] = [
  {
    // OpenCode, Claude Code and Qwen Code; Continue; Copilot; others.
    tools: ["glob", "file_glob_search", "file_search", "find_files", "glob_file_search", "find_path"],
    args: ({ glob, path = "" }) =>
      glob
        ? [
            { names: ["pattern", "globPattern", "glob", "query"], value: glob, use: "needed" },
            path === "" ? { names: PLACE, value: ".", use: "filler" } : { names: PLACE, value: path, use: "offered" },
            { names: ["explanation", "description"], value: `Find ${glob}`, use: "filler" },
          ]
        : undefined,
    results: (request, said) => [globResult(request, plainText(said), failureOf(said))],
  },
  {
    tools: SHELL_TOOLS,
    args: ({ glob, path }, tool) =>
      glob && !/[{}]/.test(glob)
        ? shellArguments({ command: findCommand(glob, path || "."), description: `Find ${glob}` }, tool)
        : undefined,
    results: (request, said) => {
      const { output: text, exitCode } = shellOutput(said);
      const output = withoutExitLine(text);
      // An unreadable directory fails the command beside the files that were found.
      const found = output.split("\n").filter((line) => !line.startsWith("find: "));
      const hasFailed = (exitCode !== 0 || found.length === 0) && found.join("").trim() === "" && output.trim() !== "";
      return [globResult(request, found.join("\n"), hasFailed ? output : undefined)];
    },
  },
];

/** In `find`, `*` also matches `/`: the command finds what the glob does, and deeper files. */
function findCommand(glob: string, path: string): string {
  const name = glob.replace(/^(?:\.?\/|\*\*\/)+/, "").replace(/\*\*\/?\*?/g, "*");
  const skipped = ["node_modules", ".git"].map((directory) => `-not -path '*/${directory}/*'`);
  // A path with a leading dash would be an option.
  const start = path.startsWith("-") ? `./${path}` : path;
  return `find ${quoteShell(start)} -type f -path ${quoteShell(`*/${name}`)} ${skipped.join(" ")}`;
}

function globResult({ pattern, path = "" }: GrepArgs, text: string, error: string | undefined): ExecResult {
  if (error !== undefined) return { case: "grepResult", value: { result: { case: "error", value: { error } } } };
  const { files, isTruncated } = fileList(text);
  const found = {
    result: { case: "files" as const, value: { files, totalFiles: files.length, clientTruncated: isTruncated } },
  };
  const value = { pattern, path, outputMode: "files_with_matches", workspaceResults: { [path]: found } };
  return { case: "grepResult", value: { result: { case: "success", value } } };
}
