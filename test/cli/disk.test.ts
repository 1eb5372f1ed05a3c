import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startSim } from "../../src/sim/server.ts";
import { excursor } from "./support/excursor.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-disk-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(args, { environment: { EXCURSOR_HOME: home, ...environment } }).exited;

/** One sentence and one of advice, and never a stack. */
function expectTold(stderr: string, what: RegExp) {
  expect(stderr).toMatch(what);
  expect(stderr).not.toMatch(/\n {4}at |bug/);
  expect(stderr.trim().split("\n").length).toBeLessThanOrEqual(2);
}

/** A file system of a few pages that is full. Mounting takes a privileged process. */
function mountFull(): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", home], { stdio: "ignore" });
  } catch {
    return false;
  }
  mkdirSync(join(home, "home"), { mode: 0o700 });
  try {
    for (const pages of [15, 1, 1, 1]) {
      writeFileSync(join(home, `fill-${pages}-${readdirSync(home).length}`), Buffer.alloc(pages * 4096));
    }
  } catch {
    // Full.
  }
  return true;
}

describe.runIf(process.platform === "linux")("on a full disk", () => {
  it("a key that cannot be written to stdout is no success", () => {
    const full = openSync("/dev/full", "w");
    try {
      const { status, stderr } = spawnSync(process.execPath, ["bin/excursor.js", "keys", "add", "bob"], {
        env: { ...process.env, EXCURSOR_HOME: home },
        stdio: ["ignore", full, "pipe"],
        encoding: "utf8",
      });
      expect(stderr).toMatch(/the disk is full \(ENOSPC\)/);
      expect(status).toBe(74);
    } finally {
      closeSync(full);
    }
  });

  it.for([
    ["key", ["key"]],
    ["keys add", ["keys", "add", "bob"]],
    ["login", ["login", "--api-key", "abc"]],
    ["mcp add", ["mcp", "add", "x", "--", "echo"]],
    ["logout", ["logout"]],
    ["serve", ["serve", "--port", "0", "--token", "t", "--key", "exc_key-of-this-test-0123456789"]],
  ] as const)("%s says so in one sentence, exits with 74 and leaves nothing behind", async ([, args], { skip }) => {
    skip(!mountFull(), "mounting takes a privileged process");
    const sim = await startSim();
    try {
      const environment = { EXCURSOR_HOME: join(home, "home"), EXCURSOR_UPSTREAM: sim.url };
      const { code, stderr } = await run(args, environment);
      expectTold(stderr, /the disk is full \(ENOSPC\)\.\nFree some space/);
      expect(code).toBe(74);
      expect(readdirSync(join(home, "home")).filter((name) => name.includes(".excursor-"))).toEqual([]);
    } finally {
      await sim.close();
      execFileSync("umount", [home]);
    }
  });
});

describe("a file that is not what it should be", () => {
  it.each([
    ["config.json", ["config"], 78],
    ["key", ["key"], 78],
    ["mcp.json", ["mcp", "list"], 78],
    ["keys.json", ["keys", "list"], 78],
    ["accounts.json", ["whoami"], 78],
  ])("%s as a link to nothing is told as such", async (name, args, expected) => {
    symlinkSync(join(home, "nowhere"), join(home, name));
    const { code, stderr } = await run(args);
    expectTold(stderr, /is a symbolic link to a file that does not exist\./);
    expect(code).toBe(expected);
  });

  it("a config of 20 MB is refused before it is read, and so is a folder", async () => {
    const path = join(home, "config.json");
    writeFileSync(path, `{"models":{"a":"${"x".repeat(20_000_000)}"}}`, { mode: 0o600 });
    const { code, stderr } = await run(["config"]);
    expectTold(stderr, /config\.json has 200000\d\d bytes; at most 1048576 are allowed\./);
    expect(code).toBe(78);
    rmSync(path);
    mkdirSync(path);
    expectTold((await run(["config"])).stderr, /config\.json is not a file\./);
  });

  it("a home that is a link to nothing is told as such", async () => {
    const link = join(home, "link");
    symlinkSync(join(home, "nowhere"), link);
    const { code, stderr } = await run(["key"], { EXCURSOR_HOME: link });
    expectTold(stderr, /Cannot create the folder .*link/);
    expect(code).toBe(77);
  });
});

it("what a killed writer has left is removed by the next one, and what is being written is not", async () => {
  const old = join(home, "key.excursor-0123456789abcdef");
  const young = join(home, "key.excursor-fedcba9876543210");
  for (const file of [old, young]) writeFileSync(file, "exc_secret", { mode: 0o600 });
  utimesSync(old, 0, 0);
  expect((await run(["key"])).code).toBe(0);
  expect(readdirSync(home).sort()).toEqual(["key", "key.excursor-fedcba9876543210"]);
});
