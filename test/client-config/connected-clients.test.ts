import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConnectedClients } from "../../src/client-config/connected-clients.ts";

let folder = "";
let connections: ConnectedClients;
let file = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-connect-"));
  connections = new ConnectedClients(join(folder, "home", "connections"));
  file = join(folder, "config.txt");
});

afterEach(() => rmSync(folder, { recursive: true }));

const connect = (path = file) => connections.connect("client", path, (text) => `${text}with the key`);
const modeOf = (path: string) => statSync(path).mode & 0o777;

it("any bytes come back as they were", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      writeFileSync(file, bytes);
      connect();
      expect(readFileSync(file, "utf8")).toContain("with the key");
      connections.disconnect("client");
      expect(readFileSync(file)).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 50 },
  );
});

it("the mode comes back, and meanwhile nobody else can read the key", () => {
  writeFileSync(file, "x");
  chmodSync(file, 0o644);
  connect();
  expect([
    modeOf(file),
    modeOf(join(folder, "home", "connections")),
    modeOf(join(folder, "home", "connections", "client.json")),
  ]).toEqual([0o600, 0o700, 0o600]);
  connections.disconnect("client");
  expect(modeOf(file)).toBe(0o644);
});

it("what was not there is gone again, with the folders that were made for it, but for what others put there", () => {
  const inside = join(folder, "a", "b", "config.txt");
  connect(inside);
  expect(readFileSync(inside, "utf8")).toBe("with the key");
  connections.disconnect("client");
  expect(existsSync(join(folder, "a"))).toBe(false);
  connect(inside);
  writeFileSync(join(folder, "a", "theirs"), "");
  connections.disconnect("client");
  expect([existsSync(join(folder, "a", "b")), existsSync(join(folder, "a", "theirs"))]).toEqual([false, true]);
});

it("a link stays a link, and what it leads to is changed and restored", () => {
  mkdirSync(join(folder, "dotfiles"));
  const real = join(folder, "dotfiles", "config.txt");
  writeFileSync(real, "mine ");
  symlinkSync(real, file);
  connect();
  expect([lstatSync(file).isSymbolicLink(), readFileSync(real, "utf8")]).toEqual([true, "mine with the key"]);
  connections.disconnect("client");
  expect([lstatSync(file).isSymbolicLink(), readFileSync(real, "utf8")]).toEqual([true, "mine "]);
});

it("connecting again begins from what was there before the first time", () => {
  writeFileSync(file, "mine ");
  connect();
  connect();
  expect(readFileSync(file, "utf8")).toBe("mine with the key");
  connections.disconnect("client");
  expect(readFileSync(file, "utf8")).toBe("mine ");
});

it("a second file of the same client is refused: one at a time", () => {
  connect();
  expect(() => connect(join(folder, "other.txt"))).toThrow(/is already connected/);
  expect(existsSync(join(folder, "other.txt"))).toBe(false);
});

it("a change can be taken back, and what was connected before it stays so", () => {
  writeFileSync(file, "mine ");
  const first = connections.connect("client", file, (text) => `${text}first`);
  const second = connections.connect("client", file, (text) => `${text}second`);
  expect(readFileSync(file, "utf8")).toBe("mine second");
  second();
  expect([readFileSync(file, "utf8"), connections.find("client")?.isChanged]).toEqual(["mine first", false]);
  first();
  expect([readFileSync(file, "utf8"), connections.list()]).toEqual(["mine ", []]);
});

it("a file that was changed since keeps the change, and only from the backup comes back as it was", () => {
  const json = join(folder, "config.json");
  const edit = (text: string) => JSON.stringify({ ...JSON.parse(text || "{}"), key: "ours" });
  const connectJson = () => connections.connect("client", json, edit);
  writeFileSync(json, '{"a":1}');
  connectJson();
  writeFileSync(json, '{"a":2,"key":"ours","b":3}');
  expect(connections.list()).toEqual([{ id: "client", file: json, isChanged: true }]);
  connections.disconnect("client");
  expect([JSON.parse(readFileSync(json, "utf8")), connections.list()]).toEqual([{ a: 2, b: 3 }, []]);
  const before = readFileSync(json, "utf8");
  connectJson();
  writeFileSync(json, '{"key":"ours"}');
  // Connected again, it begins with the change.
  connectJson();
  connections.disconnect("client");
  expect(JSON.parse(readFileSync(json, "utf8"))).toEqual({});
  writeFileSync(json, before);
  connectJson();
  writeFileSync(json, "changed");
  expect(() => connections.disconnect("client")).toThrow(/cannot be read/);
  expect(readFileSync(json, "utf8")).toBe("changed");
  connections.disconnect("client", { fromBackup: true });
  expect([readFileSync(json, "utf8"), readFileSync(`${json}.before-disconnect`, "utf8")]).toEqual([before, "changed"]);
  expect(connections.list()).toEqual([]);
});

it("a file that was deleted since stays so", () => {
  writeFileSync(file, "mine ");
  connect();
  rmSync(file);
  connections.disconnect("client");
  expect([existsSync(file), connections.list()]).toEqual([false, []]);
});

it("one that was put back by hand, or never written, is no change", () => {
  writeFileSync(file, "mine ");
  connect();
  writeFileSync(file, "mine ");
  expect(connections.find("client")?.isChanged).toBe(false);
  connections.disconnect("client");
  expect(readFileSync(file, "utf8")).toBe("mine ");
});

it("an edit that fails changes nothing", () => {
  writeFileSync(file, "mine ");
  const fail = () => {
    throw new Error("cannot");
  };
  expect(() => connections.connect("client", file, fail)).toThrow("cannot");
  expect([readFileSync(file, "utf8"), connections.list()]).toEqual(["mine ", []]);
});

it("a link to nothing is neither followed nor replaced", () => {
  symlinkSync(join(folder, "nowhere"), file);
  expect(() => connect()).toThrow(
    expect.objectContaining({
      kind: "config",
      message: expect.stringContaining("is a symbolic link to a file that does not exist"),
    }),
  );
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(connections.list()).toEqual([]);
});

it("what a killed writer has left beside the file is removed by the next one; it may hold the key", () => {
  const [old, young] = ["aa", "bb"].map((name) => `${file}.excursor-${name}`) as [string, string];
  for (const path of [old, young]) writeFileSync(path, "with the key");
  utimesSync(old, 0, 0);
  connect();
  expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
});
