import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { scanCapture } from "../../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../../src/capture/capture-writer.ts";
import { CallList, type CaptureFilter } from "../../../src/capture/view/call-list.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "calls-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Two calls of each conversation, whose records mix: one is named first, the other last. A fifth call has none. */
function writeCalls(): void {
  const writer = new CaptureWriter({ file, maxBytes: 1e6, onEnd: expect.unreachable });
  const at = 1;
  const head = { method: "POST", origin: "https://a", path: "/x", headers: { a: "b" }, transport: "h2" } as const;
  const bytes = encodeFrame(Buffer.of(0x10, 1));
  const name = (call: number, id: string) =>
    writer.write({ type: "note", call, at, note: { type: "conversation", id } });
  const calls = [1, 2, 3, 4, 5];
  for (const call of calls) writer.write({ type: "call", call, at, head });
  name(1, "one");
  name(2, "two");
  for (const call of calls) {
    writer.write({ type: "response", call, at, head: { status: 200 + call, headers: {} } });
    const message = { direction: "received", form: "frame", flags: 0, wasCompressed: false } as const;
    writer.write({ type: "message", call, at, ...message, bytes });
    const frames = Buffer.concat([bytes, bytes]);
    writer.write({ type: "frames", call, at, direction: "received", bytes: frames });
  }
  name(3, "one");
  name(4, "two");
  for (const call of calls)
    writer.write({ type: "end", call, at: 3, end: { outcome: "ok", sentBytes: 1, receivedBytes: 2 } });
  writer.close();
}

async function list(filter: CaptureFilter) {
  const calls = new CallList(filter);
  await scanCapture(file, (stored) => calls.add(stored), {
    wantsMessage: (call, count) => calls.countMessage(call, count),
  });
  return calls
    .wanted()
    .map(({ call, conversation, status, messages, ms }) => [call, conversation, status, messages, ms]);
}

test("lists calls with their messages, by conversation", async () => {
  writeCalls();
  const all = [
    [1, "one", 201, 3, 2],
    [2, "two", 202, 3, 2],
    [3, "one", 203, 3, 2],
    [4, "two", 204, 3, 2],
    [5, undefined, 205, 3, 2],
  ];
  expect(await list({})).toEqual(all);
  expect(await list({ conversation: "one" })).toEqual([all[0], all[2]]);
  expect(await list({ conversation: "none" })).toEqual([]);
});

test("counts the messages that a filter lets through", async () => {
  writeCalls();
  expect((await list({ direction: "received" })).map(([, , , messages]) => messages)).toEqual([3, 3, 3, 3, 3]);
  expect(await list({ direction: "sent" })).toEqual([]);
  expect(await list({ conversation: "two", direction: "received" })).toHaveLength(2);
});
