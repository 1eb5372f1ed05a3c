import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";

/** The program itself: what npm puts in front of it would keep signals to itself. */
const CLAUDE = `${CLIENTS_FOLDER}/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`;

export interface ClaudeOptions {
  readonly url: string;
  /** How it signs in, and whatever else it is told by the environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly prompt: string;
  /** Instead of the prompt: one message as it reads them from its input. */
  readonly message?: object;
  /** The run whose conversation it continues. */
  readonly after?: ClaudeRun;
}

export interface ClaudeRun {
  /** An empty folder, in which it works. */
  readonly folder: string;
  readonly home: string;
  readonly child: ChildProcess;
  /** What it said as it went, and how it ended. */
  readonly ended: Promise<{
    readonly code: number | null;
    readonly lines: readonly StreamLine[];
    readonly stderr: string;
  }>;
}

interface StreamLine {
  readonly type: string;
  readonly subtype?: string;
  readonly result?: string;
  readonly is_error?: boolean;
  readonly message?: { readonly content: readonly { readonly type: string; readonly thinking?: string }[] };
}

/** Claude Code without its terminal, in a home and a folder of its own, against a gateway. */
export function runClaude({ url, environment, prompt, message, after }: ClaudeOptions): ClaudeRun {
  const folder = after?.folder ?? mkdtempSync(join(tmpdir(), "excursor-claude-"));
  const home = after?.home ?? mkdtempSync(join(tmpdir(), "excursor-home-"));
  const input = [...(after ? ["--continue"] : []), ...(message ? ["--input-format", "stream-json"] : [prompt])];
  const output = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];
  const child = spawn(
    CLAUDE,
    ["-p", ...input, ...output, "--model", "claude-sonnet-5", "--allowedTools", "Bash,Write,Read,Edit"],
    {
      cwd: folder,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: "gpt-5.4-mini",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_ERROR_REPORTING: "1",
        DISABLE_AUTOUPDATER: "1",
        ...environment,
      },
    },
  );
  child.stdin.end(message ? `${JSON.stringify(message)}\n` : "");
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, "close").then(([code]) => ({
    code: code as number | null,
    lines: stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as StreamLine] : [])),
    stderr,
  }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    for (const path of [folder, home]) rmSync(path, { recursive: true, force: true });
  });
  return { folder, home, child, ended };
}
