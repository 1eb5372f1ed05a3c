import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { markRunning, runningCaptures } from "../../../src/app/capture/running-captures.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-running-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

it("a capture is noted while it runs", () => {
  expect(runningCaptures(home)).toEqual([]);
  const remove = markRunning(home, "/elsewhere/a.capture");
  expect(runningCaptures(home)).toEqual([{ pid: process.pid, file: "/elsewhere/a.capture" }]);
  remove();
  expect(runningCaptures(home)).toEqual([]);
});

it("notes of killed processes do not count, and go with the next capture; those of others stay", () => {
  const captures = join(home, "captures");
  mkdirSync(captures, { mode: 0o700 });
  const note = (name: string) => writeFileSync(join(captures, name), name);
  // The largest id of Linux is 2 ** 22.
  for (const name of ["9999999.running", "1.running", "x.running", "1.capture"]) note(name);
  expect(runningCaptures(home)).toEqual([{ pid: 1, file: "1.running" }]);
  const remove = markRunning(home, "mine");
  expect(
    runningCaptures(home)
      .map(({ pid }) => pid)
      .toSorted((a, b) => a - b),
  ).toEqual([1, process.pid]);
  remove();
});

it.each(["", "captures"])("nothing is noted where others can read: the home folder's %j", (folder) => {
  mkdirSync(join(home, "captures"), { mode: 0o700 });
  chmodSync(join(home, folder), 0o755);
  expect(() => markRunning(home, "/elsewhere/a.capture")).toThrow(expect.objectContaining({ kind: "forbidden" }));
  expect(runningCaptures(home)).toEqual([]);
});
