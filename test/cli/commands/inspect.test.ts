import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { FIRST_LINE } from "../../../src/capture/record-format.ts";
import type { CaptureRecord } from "../../../src/capture/records.ts";
import { excursor } from "../support/excursor.ts";

const RUN = "/agent.v1.AgentService/Run";
const HEAD = { method: "POST", origin: "https://a.test", path: RUN, headers: {}, transport: "h2" } as const;
const END = { outcome: "ok", sentBytes: 1, receivedBytes: 1 };
const CALL: CaptureRecord = { type: "call", call: 1, at: 1, head: HEAD };

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-inspect-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(...records: readonly CaptureRecord[]): void {
  const writer = new CaptureWriter({ file, maxBytes: 1e6, onEnd: expect.unreachable });
  for (const record of records) writer.write(record);
  writer.close();
}

const inspect = (...args: string[]) => excursor(["inspect", file, ...args]).exited;

describe("excursor inspect", { timeout: 30_000 }, () => {
  it("says what the capture does not have of a call", async () => {
    const note = { type: "omitted", reason: "it cannot be decompressed", bytes: 7 } as const;
    write(CALL, { type: "note", call: 1, at: 2, note });
    const { stdout } = await inspect("--call", "1");
    expect(stdout).toContain("The capture lacks a part of call 1: it cannot be decompressed.\n");
  });

  it("writes HAR over no file, not even over the capture itself", async () => {
    write(CALL);
    const before = readFileSync(file);
    const { code, stderr } = await inspect("--har", file);
    expect([code, stderr]).toEqual([74, expect.stringContaining("Name a new file in a folder that you can write to")]);
    expect(readFileSync(file)).toEqual(before);
    const followed = await inspect("--har", join(folder, "a.har"), "--follow");
    expect([followed.code, followed.stderr]).toEqual([2, expect.stringContaining("cannot be used with")]);
  });

  it("says how many records are damaged, and shows the others", async () => {
    write(CALL, { ...CALL, call: 2 }, { type: "end", call: 2, at: 3, end: END });
    const bytes = readFileSync(file);
    // The first record's type, which no checksum covers: a note in the place of the call.
    bytes[FIRST_LINE.length + 1] = 5;
    writeFileSync(file, bytes);
    const { code, stdout, stderr } = await inspect();
    expect([code, stderr]).toEqual([0, "1 damaged records were left out.\n"]);
    expect(stdout.trim().split("\n")).toHaveLength(2);
  });
});
