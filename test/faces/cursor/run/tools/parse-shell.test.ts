import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseShell } from "../../../../../src/faces/cursor/run/tools/parse-shell.ts";

const commands = (text: string) => parseShell(text).executableCommands.map(({ fullText }) => fullText);

describe("parseShell", () => {
  it("finds every command of a line", () => {
    expect(commands("cd a && npm test | tail -n 5; echo 'a && b' || true")).toEqual([
      "cd a",
      "npm test",
      "tail -n 5",
      "echo 'a && b'",
      "true",
    ]);
    expect(commands("make all\nls -la &\n")).toEqual(["make all", "ls -la"]);
  });

  it("tells the kinds of arguments apart", () => {
    const [command] = parseShell("echo a 'b c'").executableCommands;
    expect(command?.args.map(({ type, value }) => [type, value])).toEqual([
      ["word", "a"],
      ["raw_string", "'b c'"],
    ]);
  });

  it("reports redirections", () => {
    const { hasRedirects, redirects, allRedirectsAreDevNull } = parseShell("make 2>&1 >/dev/null");
    expect(hasRedirects).toBe(true);
    expect(redirects).toMatchObject([
      { operator: ">&", destinationFds: [2], targetText: "1" },
      { operator: ">", destinationFds: [1], targetText: "/dev/null" },
    ]);
    expect(allRedirectsAreDevNull).toBe(false);
    expect(parseShell("ls > /dev/null").allRedirectsAreDevNull).toBe(true);
  });

  it.each([
    "echo $(rm -rf x)",
    "echo `rm x`",
    'echo "$(rm x)"',
    "(cd a; rm b)",
    "if true; then rm x; fi",
    "cat <<EOF\nx\nEOF",
    "cat <(rm x)",
    "{ rm x; }",
    "$CMD x",
    "echo 'unclosed",
    "&& rm x",
    // A29: shells read these differently, or run another program than the one named.
    "GIT_EXTERNAL_DIFF='rm x' git diff",
    "PATH=/tmp/evil ls",
    "ls 'a\\' && rm x '",
    "ls a'b'",
    "'ls' x",
    "ls # '\nrm x #'",
    'git commit -m "a"',
    "ls $HOME",
    "ls *",
    "ls ~",
    "ls =rm",
    "ls a\\\nrm",
    "ls a\rrm x",
    "ls \u2028rm x",
    "begin; rm x; end",
    "ls >",
    "ls > 'a'b",
    "cat << EOF",
    "",
  ])("does not claim to understand %j", (text) => {
    expect(parseShell(text).parsingFailed).toBe(true);
    expect(parseShell(text).executableCommands).toEqual([]);
  });
});

describe.skipIf(process.platform === "win32")("A29 a shell", () => {
  it.each(["/bin/bash", "/bin/dash"])("%s runs the named programs, and no others", (shell) => {
    const folder = mkdtempSync(join(tmpdir(), "parse-shell-"));
    const programs = ["ls", "git", "rm", "then", "a-b", "x:y"];
    try {
      for (const name of programs) {
        writeFileSync(join(folder, name), `#!/bin/sh\necho "\${0##*/}" >> "$RAN"\n`);
        chmodSync(join(folder, name), 0o755);
      }
      const part = fc.constantFrom(
        ..."'\"\\\n\t #=$*~&|;<>(){}!%,@",
        ...[" ", " ", " ", " && ", " || ", "; ", " | ", " 2>&1", " > /dev/null", "'a b'", "-x", "1"],
        ...programs,
      );
      let count = 0;
      fc.assert(
        fc.property(fc.constantFrom(...programs), fc.array(part, { maxLength: 10 }), (first, parts) => {
          const command = `${first} ${parts.join("")}`;
          const parsed = parseShell(command);
          if (parsed.parsingFailed) return;
          const ran = join(folder, "ran");
          writeFileSync(ran, "");
          spawnSync(shell, ["-c", `${command}\nwait`], {
            cwd: folder,
            env: { PATH: folder, RAN: ran },
            timeout: 10_000,
          });
          const named = parsed.executableCommands.map(({ name }) => name);
          const found = readFileSync(ran, "utf8").split("\n").filter(Boolean);
          count += found.length;
          for (const name of found) expect(named).toContain(name);
        }),
        { numRuns: 600 },
      );
      // Of 600 commands some 90 are told and run: what shells read differently is not told.
      expect(count).toBeGreaterThan(50);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
