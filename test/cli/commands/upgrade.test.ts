import { hash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { MIGRATIONS } from "../../../src/state/migrations.ts";
import { excursor } from "../support/excursor.ts";

function setUp() {
  const user = mkdtempSync(join(tmpdir(), "excursor-upgrade-"));
  onTestFinished(() => rmSync(user, { recursive: true, force: true }));
  const home = join(user, "home");
  mkdirSync(home, { mode: 0o700 });
  const environment = { HOME: user, EXCURSOR_HOME: home };
  return { home, start: (...args: string[]) => excursor(args, { environment }) };
}

function writeDatabase(file: string, version: number): void {
  const database = new DatabaseSync(file);
  for (const step of MIGRATIONS.slice(0, version)) database.exec(step);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = ${version}`);
  database.close();
  chmodSync(file, 0o600);
}

const NEWER_JSON = '{"version":2,"keys":{},"accounts":{},"logins":{},"unheard":true}';
const writeJson = (file: string): void => writeFileSync(file, NEWER_JSON, { mode: 0o600 });
const UPSTREAM = "http://127.0.0.1:9";
// A demo keeps its state in memory. Nothing is asked here, so the upstream need not exist.
const SERVE = ["serve", "--port", "0", "--upstream", UPSTREAM, "--token", "any"];

/** Every upstream has a state file of its own. */
const STATE = `state-${hash("sha256", UPSTREAM, "hex").slice(0, 8)}.db`;

/** Each file of the home folder that has a version, and a command that reads it. */
const STORES: Readonly<Record<string, readonly [(file: string) => void, ...args: string[]]>> = {
  [STATE]: [(file) => writeDatabase(file, 99), ...SERVE],
  "usage.db": [(file) => writeDatabase(file, 99), ...SERVE],
  "keys.json": [writeJson, "keys", "add", "work"],
  "accounts.json": [writeJson, "whoami"],
  "mcp-logins.json": [writeJson, "mcp", "logout", "notes"],
};

describe("a file of a newer Excursor", () => {
  it.each(Object.keys(STORES))("%s is refused with what to do, and not changed", async (name) => {
    const { home, start } = setUp();
    const file = join(home, name);
    const [write, ...args] = STORES[name] ?? [() => {}];
    write(file);
    const before = readFileSync(file);
    const { code, stderr } = await start(...args).exited;
    expect(stderr).toMatch(/^error: .* newer (?:version of )?Excursor\..*\nUpdate Excursor\. /m);
    expect(code).toBe(78);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("a patch of the IDE is not taken back, and its originals are kept", async () => {
    const { home, start } = setUp();
    const body = JSON.stringify({ format: 2, root: "/opt/cursor" });
    const file = join(home, "ide/records/0123456789abcdef.json");
    mkdirSync(join(home, "ide/records"), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify({ digest: hash("sha256", body, "hex"), body }));
    const { code, stderr } = await start("reset", "--yes").exited;
    expect([code, stderr]).toEqual([78, expect.stringContaining("was patched by a newer Excursor.\nUpdate Excursor.")]);
    expect(existsSync(file)).toBe(true);
  });

  it("a capture is refused, too", async () => {
    const { home, start } = setUp();
    const file = join(home, "one.capture");
    writeFileSync(file, "excursor-capture 9\n");
    const { code, stderr } = await start("inspect", file).exited;
    expect(stderr).toContain("is a capture of another version of Excursor.");
    expect(code).not.toBe(0);
  });
});

it("a state file of an older Excursor is copied and upgraded at the start", async () => {
  const { home, start } = setUp();
  const file = join(home, STATE);
  writeDatabase(file, 1);
  const gateway = start(...SERVE);
  expect(await gateway.firstLine()).toContain("ready");
  gateway.child.kill("SIGTERM");
  expect(await gateway.exited).toMatchObject({ code: 0 });
  expect(existsSync(`${file}.before-upgrade`)).toBe(true);
  const versions = [file, `${file}.before-upgrade`].map((path) => {
    const database = new DatabaseSync(path, { readOnly: true });
    const row = database.prepare("PRAGMA user_version").get();
    database.close();
    return row?.["user_version"];
  });
  expect(versions).toEqual([MIGRATIONS.length, 1]);
});
