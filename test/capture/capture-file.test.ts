import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CaptureTail, readCapture, type StoredRecord, scanCapture } from "../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { FIRST_LINE, type FramesRecord } from "../../src/capture/record-format.ts";
import type { CaptureRecord } from "../../src/capture/records.ts";
import { encodeFrame } from "../../src/wire/connect/envelope.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "capture-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

const head = { method: "POST", origin: "https://a", path: "/x?y=1", headers: { a: "b" }, transport: "h2" } as const;
const RECORDS: readonly CaptureRecord[] = [
  { type: "call", call: 1, at: 1.5, head },
  {
    type: "message",
    call: 1,
    at: 2,
    direction: "sent",
    form: "frame",
    flags: 0,
    wasCompressed: true,
    bytes: Buffer.from([1, 2, 3]),
  },
  { type: "response", call: 1, at: 3, head: { status: 200, headers: {} } },
  {
    type: "message",
    call: 1,
    at: 4,
    direction: "received",
    form: "event",
    flags: 2,
    wasCompressed: false,
    bytes: Buffer.alloc(0),
  },
  { type: "note", call: 1, at: 5, note: { type: "conversation", id: "c" } },
  { type: "end", call: 1, at: 6, end: { outcome: "ok", sentBytes: 8, receivedBytes: 5 } },
];

const FRAMES = ["one", "", "three"].map((text) => Buffer.from(text));
const FRAMES_RECORD: FramesRecord = {
  type: "frames",
  call: 1,
  at: 2.5,
  direction: "received",
  bytes: Buffer.concat(FRAMES.map((bytes) => encodeFrame(bytes))),
};
/** What a reader makes of it. */
const FRAME_MESSAGES: readonly CaptureRecord[] = FRAMES.map((bytes) => {
  const message = { direction: "received", form: "frame", flags: 0, wasCompressed: false, bytes } as const;
  return { type: "message", call: 1, at: 2.5, ...message };
});

function write(records: readonly (CaptureRecord | FramesRecord)[], maxBytes = 1e6): string[] {
  const ends: string[] = [];
  const writer = new CaptureWriter({ file, maxBytes, onEnd: (reason) => ends.push(reason) });
  for (const record of records) writer.write(record);
  writer.close();
  return ends;
}

async function read(offset = 0): Promise<{ readonly records: CaptureRecord[]; readonly tail: CaptureTail }> {
  const records: CaptureRecord[] = [];
  const stored = readCapture(file, offset);
  for (;;) {
    const { value, done } = await stored.next();
    if (done) return { records, tail: value };
    const record = value.read();
    if (record) records.push(record);
  }
}

test("reads what was written", async () => {
  expect(write(RECORDS)).toEqual([]);
  expect(await read()).toEqual({ records: RECORDS, tail: { type: "whole", offset: statSync(file).size } });
});

test("SEC-10 only the owner can read the file", () => {
  write(RECORDS);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

const WITH_FRAMES = [...RECORDS.slice(0, 3), FRAMES_RECORD, ...RECORDS.slice(3)];
const READ_FRAMES = [...RECORDS.slice(0, 3), ...FRAME_MESSAGES, ...RECORDS.slice(3)];

test("reads frames as messages, from the offset of each", async () => {
  write(WITH_FRAMES);
  expect((await read()).records).toEqual(READ_FRAMES);
  const stored: StoredRecord[] = [];
  await scanCapture(file, (record) => void stored.push(record));
  for (const [index, { offset }] of stored.entries()) {
    expect((await read(offset)).records).toEqual(READ_FRAMES.slice(index));
  }
});

test("counts frames without reading them", async () => {
  write(WITH_FRAMES);
  const counted: number[] = [];
  const seen: string[] = [];
  const wantsMessage = (_: number, count: () => number) => counted.push(count()) < 0;
  await scanCapture(file, ({ type }) => void seen.push(type), { wantsMessage });
  // Asked once for the three frames: those of a call that is not wanted need not be counted.
  expect(counted).toEqual([1, 3, 1]);
  expect(seen).toEqual(["call", "response", "note", "end"]);
});

test("leaves out frames that are damaged, and goes on behind them", async () => {
  write(WITH_FRAMES);
  const bytes = readFileSync(file);
  bytes[bytes.indexOf("three")] = 7;
  writeFileSync(file, bytes);
  expect(await read()).toEqual({ records: RECORDS, tail: { type: "whole", offset: bytes.length } });
});

test("a file cut at any byte is read up to its last whole record", async () => {
  write(WITH_FRAMES);
  const bytes = readFileSync(file);
  let whole = 0;
  for (let length = FIRST_LINE.length; length <= bytes.length; length++) {
    writeFileSync(file, bytes.subarray(0, length));
    const { records, tail } = await read();
    expect(records).toEqual(READ_FRAMES.slice(0, records.length));
    expect(records.length).toBeGreaterThanOrEqual(whole);
    expect(tail.type).toBe(tail.offset === length ? "whole" : "cut");
    whole = records.length;
  }
  expect(whole).toBe(READ_FRAMES.length);
});

test("tells where a damaged file ends, and skips a damaged payload", async () => {
  write(RECORDS);
  const { size } = statSync(file);
  const bytes = readFileSync(file);
  bytes[FIRST_LINE.length + 30] = 0;
  writeFileSync(file, bytes);
  appendFileSync(file, Buffer.alloc(100, 7));
  const { records, tail } = await read();
  expect(records).toEqual(RECORDS.slice(1));
  expect(tail).toEqual({ type: "damaged", offset: size });
});

test("leaves out records whose own headers are damaged, whatever the bytes are", async () => {
  write(WITH_FRAMES);
  const bytes = readFileSync(file);
  const places: number[] = [];
  await scanCapture(file, ({ offset }) => void places.push(offset));
  const [call = 0] = places;
  for (const place of new Set(places)) {
    // The mark and the length are not here: after those, nothing can be read.
    for (let at = place + 1; at < place + 16; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        writeFileSync(file, damaged);
        const { records } = await read();
        for (const record of records) {
          expect(() => new Date(record.at).toISOString()).not.toThrow();
          if (record.type === "call") expect(record.head).toEqual(head);
        }
        if (place !== call) expect(records[0]).toEqual(RECORDS[0]);
      }
    }
  }
});

test("stops at its limit, and what was written stays", async () => {
  expect(write(RECORDS, 250)).toEqual(["it has reached its limit of 250 bytes"]);
  const { records, tail } = await read();
  expect(records.length).toBeGreaterThan(0);
  expect(tail.type).toBe("whole");
  expect(statSync(file).size).toBeLessThanOrEqual(250);
});

test.each([
  ["another file", "hello world, this is no capture", /is not a capture/],
  ["an empty file", "", /is not a capture/],
  ["a capture of another version", "excursor-capture 9\n", /another version/],
  [
    "a capture that was recorded with masks",
    "excursor-capture 2\n",
    /another version of Excursor, and was left as it is/,
  ],
])("refuses %s", async (_, content, message) => {
  writeFileSync(file, content);
  await expect(read()).rejects.toThrow(message);
});

test("says that a folder is no capture", async () => {
  file = folder;
  await expect(read()).rejects.toThrow(/could not be read \(EISDIR\)/);
});

test("does not write over a file", () => {
  writeFileSync(file, "mine");
  expect(() => write(RECORDS)).toThrow(/EEXIST/);
});

/** Writes records for ever, and says on stdout when it has begun. */
const WRITER = `
  import { CaptureWriter } from "${new URL("../../src/capture/capture-writer.ts", import.meta.url).href}";
  const writer = new CaptureWriter({ file: process.argv[1], maxBytes: 2 ** 32, onEnd: () => process.exit(1) });
  let call = 0;
  setInterval(() => {
    for (let index = 0; index < 500; index++) {
      const bytes = Buffer.alloc((call * 7919) % 5000, call % 251);
      const message = { direction: "sent", form: "frame", flags: 0, wasCompressed: false, bytes };
      writer.write({ type: "message", call: ++call, at: call, ...message });
    }
    if (call === 500) process.stdout.write("begun");
  }, 1);`;

test.each([1, 2, 3, 4, 5])("kill -9 of its writer leaves whole records, round %i", async (round) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", WRITER, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  await expect.poll(() => statSync(file).size, { interval: 1 }).toBeGreaterThan(round * 700_000);
  child.kill("SIGKILL");
  await once(child, "close");
  const { records, tail } = await read();
  expect(records.length).toBeGreaterThan(0);
  expect(records.map(({ call }) => call)).toEqual(records.map((_, index) => index + 1));
  expect(tail.type).not.toBe("damaged");
});
