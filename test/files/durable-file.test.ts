import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { replaceFile } from "../../src/files/durable-file.ts";
import type { FileSystem } from "../../src/files/file-system.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-durable-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const MINE = { uid: 1000, gid: 1000 };

it.each([
  ["owner and group", { uid: 1000, gid: 1000 }, false],
  ["group, of another owner", { uid: 1001, gid: 1000 }, true],
  ["owner, with another group", { uid: 1000, gid: 1001 }, true],
  ["neither", { uid: 1001, gid: 1001 }, true],
])("a replaced file keeps its owner and group: new files have the same %s", (_, owner, isChanged) => {
  const file = join(temporaryFolder(), "file");
  const changes: unknown[] = [];
  const files: FileSystem = {
    ...fs,
    fstatSync: ((fd: number) => Object.assign(fs.fstatSync(fd), MINE)) as typeof fs.fstatSync,
    fchownSync: (_fd, uid, gid) => void changes.push(["owner", uid, gid]),
    fchmodSync: (_fd, mode) => void changes.push(["mode", mode]),
  };
  replaceFile(files, file, "new", { mode: 0o640, ...owner });
  // The mode comes last: a change of owner may clear bits of it.
  expect(changes).toEqual([...(isChanged ? [["owner", owner.uid, owner.gid]] : []), ["mode", 0o640]]);
});

it("a file is replaced as a whole, private, whatever it was before, and nothing else stays", () => {
  const folder = temporaryFolder();
  const file = join(folder, "file");
  for (const content of ["", "one", Buffer.alloc(300_000, "x"), "short"]) {
    replaceFile(fs, file, content);
    expect(readFileSync(file).equals(Buffer.from(content))).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["file"]);
  }
});

it("a file that cannot be written stays as it was, and nothing else stays", () => {
  const folder = temporaryFolder();
  const file = join(folder, "file");
  replaceFile(fs, file, "old");
  const fails = () => {
    throw new Error("No space is left.");
  };
  for (const broken of [{ writeSync: fails }, { fsyncSync: fails }, { renameSync: fails }]) {
    expect(() => replaceFile({ ...fs, ...broken } as FileSystem, file, "new")).toThrow("No space");
    expect(readdirSync(folder)).toEqual(["file"]);
    expect(readFileSync(file, "utf8")).toBe("old");
  }
});
