import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ToolMessage } from "../../../../core/turn.ts";
import type { ShellArgs, ShellStreamSchema } from "../../../../gen/agent/v1/exec_shell_pb.ts";
import { shellOutput } from "./results/shell-output.ts";
import type { ExecResult, Route } from "./route.ts";
import { SHELL_TOOLS, shellArguments } from "./shell-tool.ts";

type ShellEvent = MessageInitShape<typeof ShellStreamSchema>["event"] & object;

const runs = (
  results: (request: ShellArgs, said: ToolMessage) => readonly ExecResult[],
): readonly Route<ShellArgs>[] => [{ tools: SHELL_TOOLS, args: shellArguments, results }];

/** A command with a single result. */
export const SHELL = runs((request, said) => [{ case: "shellResult", value: shellResult(request, said) }]);

/** The same for another harness. */
export const BASH = runs((request, said) => [{ case: "miniSweAgentBashResult", value: shellResult(request, said) }]);

/** A command with a streamed result. It is sent at once when the client is done. */
export const SHELL_STREAM = runs(({ workingDirectory: cwd }, said) => {
  const { output, exitCode } = shellOutput(said);
  return [
    event({ case: "start", value: {} }),
    event({ case: "stdout", value: { data: output } }),
    event({ case: "exit", value: { code: exitCode, cwd } }),
  ];
});

const event = (one: ShellEvent): ExecResult => ({ case: "shellStream", value: { event: one } });

function shellResult({ command, workingDirectory }: ShellArgs, said: ToolMessage) {
  const { output: stdout, exitCode } = shellOutput(said);
  const value = { command, workingDirectory, exitCode, stdout };
  return { result: { case: exitCode === 0 ? ("success" as const) : ("failure" as const), value } };
}
