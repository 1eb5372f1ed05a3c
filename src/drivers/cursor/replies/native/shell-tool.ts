import type { ToolDefinition } from "../../../../core/turn.ts";
import { commandScript, isScriptTool } from "./codex-script.ts";
import { type Argument, describedAs, takesFreeText } from "./fit-tool.ts";
import { quoteShell } from "./quote-shell.ts";

/** Clients' names for their shell. */
export const SHELL_TOOLS = [
  "bash", // OpenCode, Claude Code, Continue, Crush
  "exec_command", // Codex
  "exec", // Codex, where its tools are functions of a script
  "functions__exec", // the same beside another one of that name
  "shell_command",
  "shell",
  "local_shell",
  "run_shell_command", // Qwen Code, Gemini CLI
  "run_terminal_command", // Continue in an editor
  "run_terminal_cmd",
  "run_in_terminal", // Copilot
  "execute_command", // Cline, Roo Code
  "execute_bash",
  "run_command",
  "terminal", // Zed
];

export interface ShellCommand {
  readonly command: string;
  /** Empty: the client's own. */
  readonly workingDirectory?: string;
  readonly description?: string | undefined;
  readonly isBackground?: boolean;
  /** In milliseconds. */
  readonly timeout?: number;
}

const DIRECTORY = ["workdir", "cwd", "workingDirectory", "directory", "dirPath", "cd"];

/** Returns the arguments of a shell command for any client's tool. */
export function shellArguments(shell: ShellCommand, tool: ToolDefinition): readonly Argument[] {
  const { workingDirectory = "", description, isBackground = false, timeout = 0 } = shell;
  const goesThere = workingDirectory !== "" && describedAs(tool, DIRECTORY) === undefined;
  const command = goesThere ? inDirectory(workingDirectory, shell.command) : shell.command;
  const summary = description || shell.command.split("\n", 1)[0] || "Run a command";
  return [
    isScriptTool(tool)
      ? { names: ["input"], value: commandScript(shell.command, workingDirectory), use: "needed" }
      : { names: commandNames(tool), value: command, list: ["bash", "-lc", command], use: "needed" },
    workingDirectory === ""
      ? { names: DIRECTORY, value: ".", use: "filler" }
      : { names: DIRECTORY, value: workingDirectory, use: "offered" },
    ...(isBackground
      ? [{ names: ["isBackground", "runInBackground", "background"], value: true, use: "needed" } as const]
      : []),
    { names: ["description", "explanation", "summary"], value: summary, use: description ? "offered" : "filler" },
    { names: ["goal"], value: summary, use: "filler" },
    // The backend's timeout ends the waiting, most clients' kills the command. So it is set only if required.
    { names: ["timeoutMs", "timeout"], value: timeout || 120_000, use: "filler" },
  ];
}

/** A tool with free text takes the command as its text, unless it is a script in another language. */
const commandNames = (tool: ToolDefinition): readonly string[] =>
  takesFreeText(tool) && !/javascript/i.test(tool.description) ? ["input"] : ["command", "cmd", "script"];

/** Runs the command only if the directory exists. */
const inDirectory = (directory: string, command: string): string =>
  `cd ${quoteShell(directory)} && ${/[;&|\n]/.test(command) ? `{\n${command}\n}` : command}`;
