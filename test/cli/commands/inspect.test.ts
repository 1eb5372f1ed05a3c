import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import type { CaptureRecord } from "../../../src/capture/records.ts";
import { excursor } from "../support/excursor.ts";

const RUN = "/agent.v1.AgentService/Run";
const HEAD = { method: "POST", origin: "https://a.test", path: RUN, headers: {}, transport: "h2" } as const;
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
});
