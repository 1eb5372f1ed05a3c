import type { LsArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { PLACE } from "./path-names.ts";
import { quoteShell } from "./quote-shell.ts";
import { failureOf } from "./results/failure.ts";
import { listing } from "./results/listing.ts";
import { plainText } from "./results/reminders.ts";
import { shellOutput, withoutExitLine } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

export const LS: readonly Route<LsArgs>[] = [
  {
    // OpenCode and Continue; Claude Code; Qwen Code, Gemini CLI and Zed; Codex and Copilot; Cline.
    tools: ["list", "ls", "list_directory", "list_dir", "list_files", "view_directory"],
    args: ({ path, ignore }) => [
      path === "" ? { names: PLACE, value: ".", use: "filler" } : { names: PLACE, value: path, use: "needed" },
      ...(ignore.length === 0 ? [] : [{ names: ["ignore"], value: ignore, use: "offered" } as const]),
      { names: ["recursive"], value: false, use: "filler" },
      { names: ["explanation", "description"], value: `List ${path || "the directory"}`, use: "filler" },
    ],
    results: ({ path }, said) => [lsResult(path, plainText(said), failureOf(said))],
  },
  {
    tools: SHELL_TOOLS,
    args: ({ path }, tool) =>
      shellArguments({ command: `ls -1ap -- ${quoteShell(path || ".")}`, description: "List a directory" }, tool),
    results: ({ path }, said) => {
      const { output, exitCode } = shellOutput(said);
      const hasFailed = exitCode !== 0 || /^ls: /.test(output);
      return [
        lsResult(path, withoutExitLine(output), hasFailed ? output || "The directory could not be listed." : undefined),
      ];
    },
  },
  {
    tools: ["glob"],
    args: ({ path }) => [
      { names: ["pattern", "globPattern"], value: "*", use: "needed" },
      ...(path === "" ? [] : [{ names: PLACE, value: path, use: "needed" } as const]),
    ],
    results: ({ path }, said) => [lsResult(path, plainText(said), failureOf(said))],
  },
];

function lsResult(path: string, text: string, error: string | undefined): ExecResult {
  if (error !== undefined) return { case: "lsResult", value: { result: { case: "error", value: { path, error } } } };
  const value = { directoryTreeRoot: listing(path, text) };
  return { case: "lsResult", value: { result: { case: "success", value } } };
}
