import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { completionScript, type Shell } from "../../src/cli/completion/completion-script.ts";
import { completionTable } from "../../src/cli/completion/completion-table.ts";
import { createProgram } from "../../src/cli/program.ts";
import { excursor } from "./support/excursor.ts";
import { HAS_TMUX, openTerminal } from "./support/terminal.ts";

const script = (shell: Shell): string => completionScript(shell, completionTable(createProgram()));

/** Asks a real shell what can follow these words; the last one is begun. */
const ASK: Readonly<Record<"bash" | "zsh" | "fish", (words: readonly string[]) => readonly string[]>> = {
  bash: (words) => [
    "-c",
    `${script("bash")}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _excursor; printf '%s\\n' "\${COMPREPLY[@]}"`,
    "bash",
    ...words,
  ],
  zsh: (words) => [
    "-fc",
    `compdef() { : }\n${script("zsh")}\ncompadd() { shift; for each in $@; do [[ $each = "\${words[CURRENT]}"* ]] && print -r -- $each; done }\nwords=("$@"); CURRENT=$#; _excursor`,
    "zsh",
    ...words,
  ],
  fish: (words) => ["--no-config", "-c", `${script("fish")}\ncomplete -C '${words.join(" ")}'`],
};

function offered(shell: "bash" | "zsh" | "fish", ...words: string[]): string[] {
  const { stdout, stderr } = spawnSync(shell, ASK[shell](["excursor", ...words]), { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
}

describe.each(["bash", "zsh", "fish"] as const)("completion in %s", (shell) => {
  const isMissing = spawnSync(shell, ["--version"]).error !== undefined;

  it.skipIf(isMissing)("offers commands, subcommands, flags and values", () => {
    expect(offered(shell, "ser")).toEqual(["serve", "service"]);
    expect(offered(shell, "service", "un")).toEqual(["uninstall"]);
    expect(offered(shell, "serve", "--cursor-")).toEqual(["--cursor-face", "--cursor-port"]);
    expect(offered(shell, "serve", "--transport", "h")).toEqual(
      ["h2", "h1"].sort(shell === "fish" ? undefined : () => 0),
    );
    expect(offered(shell, "connect", "claude")).toEqual(["claude-code"]);
    expect(offered(shell, "completion", "z")).toEqual(["zsh"]);
  });
});

/** The words that start an interactive shell which has only read this script. */
const INTERACTIVE: Readonly<Record<"bash" | "zsh" | "fish", (folder: string) => readonly string[]>> = {
  bash: (folder) => {
    writeFileSync(join(folder, "rc"), `PS1='ready> '\n${script("bash")}`);
    return ["bash", "--rcfile", join(folder, "rc"), "-i"];
  },
  zsh: (folder) => {
    writeFileSync(join(folder, ".zshrc"), `PS1='ready> '\n${script("zsh")}`);
    return ["zsh", "-i"];
  },
  fish: (folder) => {
    writeFileSync(join(folder, "rc"), `function fish_prompt; echo 'ready> '; end\n${script("fish")}`);
    return ["fish", "--no-config", "--init-command", `source ${join(folder, "rc")}`];
  },
};

describe.each(["bash", "zsh", "fish"] as const)("the Tab key in %s", (shell) => {
  const isMissing = !HAS_TMUX || spawnSync(shell, ["--version"]).error !== undefined;

  it.skipIf(isMissing)("completes what was begun", async () => {
    const folder = mkdtempSync(join(tmpdir(), "excursor-shell-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const terminal = openTerminal(INTERACTIVE[shell](folder), { HOME: folder, ZDOTDIR: folder, PATH: "/usr/bin:/bin" });
    await terminal.sees(/ready> /);
    terminal.type("excursor service un");
    terminal.press("Tab");
    expect(await terminal.sees(/excursor service uninstall/)).not.toContain("not found");
  });
});

it("PowerShell's table has every command (not tried in a PowerShell)", () => {
  for (const { path } of completionTable(createProgram())) expect(script("powershell")).toContain(`    '${path}' = '`);
});

it("an unknown shell is refused", async () => {
  const { code, stderr } = await excursor(["completion", "tcsh"]).exited;
  expect(code).toBe(2);
  expect(stderr).toContain("Allowed choices are bash, zsh, fish, powershell");
});
