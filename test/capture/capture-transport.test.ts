import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { captureTransport } from "../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import type { CaptureRecord } from "../../src/capture/records.ts";
import { encodeFrame, FLAG_COMPRESSED } from "../../src/wire/connect/envelope.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import type { HttpHandler, HttpTransport } from "../../src/wire/http/http.ts";

const SECRET = "tok-1234567890-abcdef";
const ENCRYPTION_KEY = "710a1531ad5eb819e2b76966a94045c587a04cad361e31f315277750cb7a0011";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "capture-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Sends one request to a server that answers with these chunks. Returns what the client got, and the records. */
async function exchange(
  type: string,
  sent: readonly Uint8Array[],
  answer: readonly Uint8Array[],
  outlastsResponse = false,
  encoding: string | undefined = undefined,
) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": type, ...(encoding !== undefined && { "content-encoding": encoding }) });
    for (const chunk of answer) response.write(chunk);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e7, onEnd: expect.unreachable }));
  const transport = captureTransport(createHttp1Transport(), "h1", recorder);
  const got: Uint8Array[] = [];
  await new Promise<void>((resolve, reject) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = {
      "content-type": type,
      authorization: `Bearer ${SECRET}`,
      "x-blob-encryption-key": ENCRYPTION_KEY,
    };
    const open = transport.open(
      { origin, path: `/a.B/C?key=${SECRET}`, headers, outlastsResponse },
      { head: () => {}, data: (chunk) => got.push(chunk), end: resolve, fail: reject },
    );
    for (const chunk of sent) open.write(chunk);
    open.end();
  });
  recorder.close();
  transport.destroy();
  server.close();
  const records: CaptureRecord[] = [];
  for await (const stored of readCapture(file)) {
    const record = stored.read();
    if (record) records.push(record);
  }
  return { got: Buffer.concat(got), records };
}

test("records a call with its frames, and changes nothing of it", async () => {
  const answer = [encodeFrame(Buffer.from("one")), encodeFrame(gzipSync("two"), FLAG_COMPRESSED)];
  const bytes = Buffer.concat(answer);
  const split = [bytes.subarray(0, 7), bytes.subarray(7)];
  const { got, records } = await exchange("application/connect+proto", [encodeFrame(Buffer.from("ask"))], split);
  expect(got).toEqual(bytes);
  expect(records.map(({ type }) => type).toSorted()).toEqual([
    "call",
    "end",
    "message",
    "message",
    "message",
    "response",
  ]);
  const messages = records.filter((record) => record.type === "message");
  expect(
    messages.map(({ direction, form, wasCompressed, bytes: content }) => [
      direction,
      form,
      wasCompressed,
      String(content),
    ]),
  ).toEqual([
    ["sent", "frame", false, "ask"],
    ["received", "frame", false, "one"],
    ["received", "frame", true, "two"],
  ]);
});

test("SEC-52 keeps the token of a call out of its headers, its path and its messages", async () => {
  const frame = encodeFrame(gzipSync(`before ${SECRET} after`), FLAG_COMPRESSED);
  const parts = [frame.subarray(0, 9), frame.subarray(9)];
  const { records } = await exchange("application/connect+proto", parts, parts);
  for (const secret of [SECRET, ENCRYPTION_KEY]) expect(readFileSync(file).includes(secret)).toBe(false);
  const messages = records.filter((record) => record.type === "message");
  expect(messages.map(({ bytes }) => String(bytes).replace(/\S{21}/, "…"))).toEqual([
    "before … after",
    "before … after",
  ]);
});

test("records other bodies as a whole, and notes what it cannot read", async () => {
  const { records } = await exchange("application/json", [Buffer.from("{"), Buffer.from("}")], [Buffer.from("[]")]);
  const messages = records.filter((record) => record.type === "message");
  expect(messages.map(({ form, bytes }) => [form, String(bytes)])).toEqual([
    ["body", "{}"],
    ["body", "[]"],
  ]);
  rmSync(file);
  const { got, records: damaged } = await exchange("application/connect+proto", [], [Buffer.alloc(20, 0xff)]);
  expect(got).toEqual(Buffer.alloc(20, 0xff));
  expect(damaged.some(({ type }) => type === "note")).toBe(true);
});

test("records the answer to a request whose body may go on, and does not", async () => {
  const { records } = await exchange("application/json", [Buffer.from("{}")], [Buffer.from("[1]")], true);
  const texts = records.flatMap((record) => (record.type === "message" ? [String(record.bytes)] : []));
  expect(texts).toEqual(["{}", "[1]"]);
  expect(records.at(-1)).toMatchObject({ type: "end", end: { outcome: "ok", sentBytes: 2, receivedBytes: 3 } });
});

test("records a body that goes on after the response", async () => {
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e7, onEnd: expect.unreachable }));
  let answer: HttpHandler | undefined;
  const exchanged = { write: () => true, end: () => {}, pause: () => {}, resume: () => {}, abort: () => {} };
  const inner: HttpTransport = {
    open(_, handler) {
      answer = handler;
      return exchanged;
    },
    close: async () => {},
    destroy: () => {},
  };
  const headers = { "content-type": "application/connect+proto" };
  const open = captureTransport(inner, "h2", recorder).open(
    { origin: "https://backend", path: "/a.B/C", headers, outlastsResponse: true },
    { head: () => {}, data: () => {}, end: () => {}, fail: ({ message }) => expect.unreachable(message) },
  );
  open.write(encodeFrame(Buffer.from("before")));
  answer?.head({ status: 200, headers });
  answer?.end();
  open.write(encodeFrame(Buffer.from("after")));
  open.end();
  recorder.close();
  const records: CaptureRecord[] = [];
  for await (const stored of readCapture(file)) records.push(...[stored.read()].flatMap((record) => record ?? []));
  const texts = records.flatMap((record) => (record.type === "message" ? [String(record.bytes)] : []));
  expect(texts).toEqual(["before", "after"]);
  expect(records.at(-1)).toMatchObject({ type: "end", end: { outcome: "ok", sentBytes: 21 } });
});

const LOGIN_TOKEN = "eyJhbGciOiJI.eyJzdWIiOiI3In0.c2lnbmF0dXJl";
const LOGIN = JSON.stringify({ accessToken: LOGIN_TOKEN });

test.each([
  ["br", brotliCompressSync(LOGIN)],
  ["deflate", deflateSync(LOGIN)],
  ["GZIP", gzipSync(LOGIN)],
  ["gzip, br", brotliCompressSync(gzipSync(LOGIN))],
])("decodes a body that is encoded as %s", async (encoding, answer) => {
  const { got, records } = await exchange("application/json", [], [answer], false, encoding);
  expect(got).toEqual(answer);
  const [message] = records.filter((record) => record.type === "message");
  expect(message).toMatchObject({ form: "body", wasCompressed: true });
  expect(String(message?.bytes)).toBe(LOGIN);
});

test("SEC-52 leaves out a body in an encoding that it does not know, and notes that", async () => {
  const answer = Buffer.from(`made-up ${LOGIN}`);
  const { got, records } = await exchange("application/json", [], [answer], false, "made-up");
  expect(got).toEqual(answer);
  expect(records.filter(({ type }) => type === "message")).toEqual([]);
  expect(records).toContainEqual(
    expect.objectContaining({ note: { type: "omitted", reason: "it cannot be decompressed", bytes: answer.length } }),
  );
  expect(readFileSync(file).includes("made-up {")).toBe(false);
});

test.each([
  ["text/event-stream", "event", 'data: {"a":1}\n\ndata: b\n\n', ['["","{\\"a\\":1}"]', '["","b"]']],
  ["application/connect+proto", "frame", encodeFrame(Buffer.from("one")), ["one"]],
] as const)("reads a stream of %s that is compressed as a whole", async (type, form, plain, expected) => {
  const { records } = await exchange(type, [], [gzipSync(plain)], false, "gzip");
  const messages = records.filter((record) => record.type === "message");
  expect(messages.map(({ bytes }) => String(bytes))).toEqual(expected);
  expect(new Set(messages.map((message) => message.form))).toEqual(new Set([form]));
});
