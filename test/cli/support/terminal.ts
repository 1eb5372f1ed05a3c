import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";

export const HAS_TMUX = spawnSync("tmux", ["-V"]).error === undefined;

const POLL_MS = 50;
const PATIENCE_MS = 60_000;

/** A program in a real terminal, with a person who reads and types. */
export interface Terminal {
  /** Waits until the terminal shows this, and returns all that it shows. */
  sees(pattern: RegExp): Promise<string>;
  type(text: string): void;
  press(key: "C-c" | "C-d" | "Enter" | "Tab"): void;
}

/** Starts a program in tmux, in an environment of its own. Its exit code is shown as `exit N`. */
export function openTerminal(command: readonly string[], environment: Readonly<Record<string, string>>): Terminal {
  const folder = mkdtempSync(join(tmpdir(), "excursor-tmux-"));
  const tmux = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-S", join(folder, "socket"), "-f", "/dev/null", ...args], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`);
    return stdout;
  };
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  // A Ctrl-C must end the program and not this shell.
  const script = 'trap : INT; "$@"; echo "exit $?"; exec sleep 600';
  tmux(
    "new-session",
    "-d",
    "-x",
    "160",
    "-y",
    "100",
    "env",
    "-i",
    "TERM=xterm",
    ...variables,
    "sh",
    "-c",
    script,
    "sh",
    ...command,
  );
  onTestFinished(() => {
    tmux("kill-server");
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    async sees(pattern) {
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const shown = tmux("capture-pane", "-p", "-J");
        if (pattern.test(shown)) return shown;
        if (performance.now() > deadline) throw new Error(`the terminal does not show ${pattern}:\n${shown.trimEnd()}`);
        await pause(POLL_MS);
      }
    },
    type: (text) => void tmux("send-keys", "-l", text),
    press: (key) => void tmux("send-keys", key),
  };
}
