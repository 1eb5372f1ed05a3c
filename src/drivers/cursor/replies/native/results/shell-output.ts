import { type ToolMessage, textOf } from "../../../../../core/turn.ts";
import { splitReminders } from "./reminders.ts";

export interface ShellOutput {
  readonly output: string;
  readonly exitCode: number;
}

/** Lines before or after the output that tell how the command ended. */
const EXIT_LINES = [
  /^(?:Error:?\s*)?\(?(?:Command (?:failed|exited) with )?(?:exit|return) ?code[:= ]+(-?\d+)\b/i,
  /^(?:Process|Command) exited with (?:exit )?code:? (-?\d+)/i,
  /^Error \(exit code (-?\d+)\)/i,
  /^<(?:exit_?code|return_?code)>\s*(-?\d+)\s*<\//i,
  /^Command executed\b.*\bexit code: (-?\d+)/i,
  /^\[exit(?: code)?:? (-?\d+)\]$/i,
];
/** Lines that may follow such a line. */
const AFTER_EXIT = /^(?:|(?:Signal|Background PIDs|Process Group PGID|Wall time|Duration)\b.*|<\/\w+>)$/i;
/** Lines before Codex's output. */
const CODEX_LINE = /^(?:Chunk ID|Exit code|Wall time|Process|Original token count|Total output lines)\b/;
/** Clients' words for empty output. */
const NO_OUTPUT = /^(?:\((?:no output|.* with no output)\)|tool ran without output or errors)$/i;

/** Parses the result of a client's shell: the output, and the exit code as far as it is given. */
export function shellOutput(said: ToolMessage): ShellOutput {
  const { text, reminders } = splitReminders(textOf(said.content));
  const { output, exitCode } = fromScript(text) ??
    fromJsonText(text) ??
    fromCodex(text) ?? { output: text, exitCode: exitCodeIn(text) };
  const told = NO_OUTPUT.test(output) ? "" : output;
  return {
    output: reminders === "" ? told : `${told}\n\n${reminders}`.trimStart(),
    exitCode: said.isError ? exitCode || 1 : (exitCode ?? 0),
  };
}

interface Told {
  readonly output: string;
  readonly exitCode: number | undefined;
}

/** Parses older Codex output: `{"output":"…","metadata":{"exit_code":0}}`. */
function fromJsonText(text: string): Told | undefined {
  if (!text.startsWith("{") || !text.includes('"exit_code"')) return undefined;
  try {
    const { output, metadata } = JSON.parse(text);
    const code: unknown = metadata?.exit_code;
    return typeof output === "string" && typeof code === "number" ? { output, exitCode: bounded(code) } : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the output of Codex's script tool: lines about the script, then the output of our script or its error. */
function fromScript(text: string): Told | undefined {
  const head = /^Script (completed|failed)[^\n]*\nWall time [^\n]*\nOutput:\n/.exec(text);
  if (!head) return undefined;
  const said = text.slice(head[0].length);
  return fromCodex(said) ?? { output: said, exitCode: head[1] === "failed" ? 1 : exitCodeIn(said) };
}

/** Parses Codex output: lines about the command, then `Output:` and the rest. */
function fromCodex(text: string): Told | undefined {
  const head = text.slice(0, text.indexOf("\nOutput:") + 1);
  const lines = head.split("\n").slice(0, -1);
  if (!head.includes("Wall time") || !lines.every((line) => CODEX_LINE.test(line))) return undefined;
  const code = /^(?:Exit code:|Process exited with code) (-?\d+)/m.exec(head)?.[1];
  const output = text.slice(head.length + "Output:".length).replace(/^\n/, "");
  return { output, exitCode: code === undefined ? undefined : bounded(Number(code)) };
}

/** Only the first and the last line count; those in between are the command's own output. */
function exitCodeIn(text: string): number | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  for (const line of [lines[0], lines.findLast((other) => !AFTER_EXIT.test(other))]) {
    for (const form of EXIT_LINES) {
      const code = form.exec(line ?? "")?.[1];
      if (code !== undefined) return bounded(Number(code));
    }
  }
  return undefined;
}

/** Removes the line that tells how the command ended from output that is a list. */
export function withoutExitLine(output: string): string {
  const lines = output.split("\n");
  const last = lines.findLastIndex((line) => !AFTER_EXIT.test(line.trim()));
  const isExit = (index: number) => EXIT_LINES.some((form) => form.test(lines[index]?.trim() ?? ""));
  return lines.filter((_, index) => !((index === 0 || index === last) && isExit(index))).join("\n");
}

/** Limits an exit code to what the wire can hold. Anything else becomes 1. */
const bounded = (code: number): number => (Number.isInteger(code) && code >= 0 && code < 2 ** 31 ? code : 1);
