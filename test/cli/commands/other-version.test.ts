import { hash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { excursor } from "../support/excursor.ts";

function setUp() {
  const user = mkdtempSync(join(tmpdir(), "excursor-version-"));
  onTestFinished(() => rmSync(user, { recursive: true, force: true }));
  const home = join(user, "home");
  mkdirSync(home, { mode: 0o700 });
  const environment = { HOME: user, EXCURSOR_HOME: home };
  return { home, start: (...args: string[]) => excursor(args, { environment }) };
}

/** A database as another version may have left it: with an unknown schema, and changes that are still in its log. */
function writeDatabase(file: string, version: number): void {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = ${version}`);
  database.exec("CREATE TABLE kv (word TEXT); INSERT INTO kv VALUES ('kept')");
  database.close();
  chmodSync(file, 0o600);
}

function readDatabase(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const version = database.prepare("PRAGMA user_version").get()?.["user_version"];
    return [version, database.prepare("SELECT word FROM kv").get()?.["word"]];
  } finally {
    database.close();
  }
}

const UPSTREAM = "http://127.0.0.1:9";
// A demo keeps its state in memory. Nothing is asked here, so the upstream need not exist.
const SERVE = ["serve", "--port", "0", "--upstream", UPSTREAM, "--token", "any"];

/** Every upstream has a state file of its own. */
const STATE = `state-${hash("sha256", UPSTREAM, "hex").slice(0, 8)}.db`;

describe("a file of another version of Excursor", () => {
  it("is put aside with one sentence if it is the state or the usage record, and nothing in it is lost", async () => {
    const { home, start } = setUp();
    const files = [
      { title: "state file", file: join(home, STATE), version: 1 },
      { title: "usage record", file: join(home, "usage.db"), version: 99 },
    ];
    for (const { file, version } of files) writeDatabase(file, version);
    const gateway = start(...SERVE);
    expect(await gateway.firstLine()).toContain("ready");
    gateway.child.kill("SIGTERM");
    const { code, stderr } = await gateway.exited;
    expect(code).toBe(0);
    for (const { title, file, version } of files) {
      const aside = `${file}.version-${version}`;
      const sentence = `The ${title} is of another version of Excursor: it is now ${aside}, and a new one was begun.`;
      expect(stderr.split("\n").filter((line) => line.includes(file))).toEqual([expect.stringContaining(sentence)]);
      expect(readDatabase(aside)).toEqual([version, "kept"]);
    }
  });

  it.each([["usage"], ["limits", "list"]])(
    "is left to a gateway if a command needs the usage record: %s",
    async (...args) => {
      const { home, start } = setUp();
      writeDatabase(join(home, "usage.db"), 99);
      const { code, stderr } = await start(...args).exited;
      expect(stderr).toContain(
        "error: The usage record is of another version of Excursor.\nRead it with that version.",
      );
      expect(code).toBe(78);
      expect(readdirSync(home).filter((name) => name.startsWith("usage.db."))).toEqual([]);
      expect(readDatabase(join(home, "usage.db"))).toEqual([99, "kept"]);
    },
  );

  it.each([
    ["keys.json", "keys", "add", "work"],
    ["accounts.json", "whoami"],
    ["mcp-logins.json", "mcp", "logout", "notes"],
  ])("stays where it is with keys or logins, and the sentence says what to do: %s", async (name, ...args) => {
    const { home, start } = setUp();
    const file = join(home, name);
    const text = `{"version":2,"keys":{},"accounts":{},"logins":{},"unheard":true}`;
    writeFileSync(file, text, { mode: 0o600 });
    const { code, stderr } = await start(...args).exited;
    expect(stderr).toContain(
      `error: ${file} is of another version of Excursor. It was not changed.\nRun that version. Or move the file away`,
    );
    expect(code).toBe(78);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("a patch of the IDE is not taken back, and its originals are kept", async () => {
    const { home, start } = setUp();
    const body = JSON.stringify({ format: 2, root: "/opt/cursor" });
    const file = join(home, "ide/records/0123456789abcdef.json");
    mkdirSync(join(home, "ide/records"), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify({ digest: hash("sha256", body, "hex"), body }));
    const { code, stderr } = await start("reset", "--yes").exited;
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining("was patched by another version of Excursor.\nUse that version to restore it."),
    ]);
    expect(existsSync(file)).toBe(true);
  });

  it("is refused if it is a capture", async () => {
    const { home, start } = setUp();
    const file = join(home, "one.capture");
    writeFileSync(file, "excursor-capture 9\n");
    const { code, stderr } = await start("inspect", file).exited;
    expect(stderr).toContain("is a capture of another version of Excursor, and was left as it is");
    expect(code).not.toBe(0);
  });
});
