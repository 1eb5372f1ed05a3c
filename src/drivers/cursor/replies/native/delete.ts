import type { ToolMessage } from "../../../../core/turn.ts";
import type { DeleteArgs } from "../../../../gen/agent/v1/exec_file_pb.ts";
import { PATH } from "./path-names.ts";
import { quoteShell } from "./quote-shell.ts";
import { failureOf, saysMissing } from "./results/failure.ts";
import { shellOutput } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

/** Hardly any client has a tool for deleting, so the shell is the fallback. */
export const DELETE: readonly Route<DeleteArgs>[] = [
  {
    tools: ["delete_file", "remove_file", "delete_path"],
    args: ({ path }) => [
      { names: PATH, value: path, use: "needed" },
      { names: ["explanation", "description"], value: `Delete ${path}`, use: "filler" },
    ],
    results: (request, said) => [deleteResult(request, failureOf(said))],
  },
  {
    tools: SHELL_TOOLS,
    args: ({ path }, tool) =>
      shellArguments({ command: `rm -f -- ${quoteShell(path)}`, description: `Delete ${path}` }, tool),
    results: (request, said) => [deleteResult(request, removalFailure(said))],
  },
];

/** Many clients do not report an exit code; then only a failure has output. */
function removalFailure(said: ToolMessage): string | undefined {
  const { output, exitCode } = shellOutput(said);
  return exitCode !== 0 || /^rm: /m.test(output) ? output || "The file could not be deleted." : undefined;
}

function deleteResult({ path }: DeleteArgs, error: string | undefined): ExecResult {
  if (error === undefined) {
    // No client reports the size, and the backend waits for ever if there is none.
    const value = { path, deletedFile: path, fileSize: 1n };
    return { case: "deleteResult", value: { result: { case: "success", value } } };
  }
  return saysMissing(error)
    ? { case: "deleteResult", value: { result: { case: "fileNotFound", value: { path } } } }
    : { case: "deleteResult", value: { result: { case: "error", value: { path, error } } } };
}
