import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder, type RecorderOptions } from "../../src/capture/recorder.ts";
import type { CapturedMessage, CaptureRecord } from "../../src/capture/records.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend, readAppend } from "../../src/wire/agent/bidi-append.ts";
import { blobIdOf, hexId } from "../../src/wire/agent/state/blobs.ts";
import { encodeFrame } from "../../src/wire/connect/envelope.ts";

const RUN = "/agent.v1.AgentService/Run";
const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const APPEND = "/aiserver.v1.BidiService/BidiAppend";
const TOKEN = "opaque-token-0123456789-abcdefgh-9876543210";
const MAIL = "ada.lovelace@example.com";
const HOME = "/home/ada";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "recorder-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

const startRecorder = (options: RecorderOptions = {}) =>
  new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable }), {
    secrets: [HOME],
    ...options,
  });

const startCall = (recorder: CaptureRecorder, path: string, headers: Record<string, string> = {}) =>
  recorder.call({ method: "POST", origin: "https://backend", path, headers, transport: "h2" });

const END = { outcome: "ok", sentBytes: 0, receivedBytes: 0 };

const message = (direction: "sent" | "received", bytes: Uint8Array, form: CapturedMessage["form"] = "frame") => ({
  direction,
  form,
  flags: 0,
  wasCompressed: false,
  bytes,
});

const server = (value: MessageInitShape<typeof AgentServerMessageSchema>) =>
  message("received", toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, value)));

const delta = (text: string) =>
  server({
    message: {
      case: "interactionUpdate",
      value: { message: { case: "textDelta", value: { text } } },
    },
  });

const runRequest = (conversationId: string) =>
  toBinary(
    AgentClientMessageSchema,
    create(AgentClientMessageSchema, { message: { case: "runRequest", value: { conversationId } } }),
  );

const append = (requestId: string, payload: Uint8Array, seqno = 0n) =>
  message("sent", encodeAppend({ requestId, seqno, payload }), "body");

async function readAll(): Promise<CaptureRecord[]> {
  const records: CaptureRecord[] = [];
  for await (const stored of readCapture(file)) {
    const record = stored.read();
    if (record) records.push(record.type === "message" ? { ...record, bytes: Buffer.from(record.bytes) } : record);
  }
  return records;
}

const messagesOf = (records: readonly CaptureRecord[]) => records.filter((record) => record.type === "message");

function textOf(bytes: Uint8Array): string {
  const { message: top } = fromBinary(AgentServerMessageSchema, bytes);
  if (top.case !== "interactionUpdate" || top.value.message.case !== "textDelta") return "";
  return top.value.message.value.text;
}

describe("SEC-52 secrets in messages", () => {
  test("masks a field without touching the tags and lengths around it", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, RUN);
    // Lengths of 48 to 122 are letters and digits: to a pattern, they look like a part of the address.
    for (let extra = 0; extra < 120; extra++) {
      const bytes = toBinary(
        AgentClientMessageSchema,
        create(AgentClientMessageSchema, {
          message: { case: "runRequest", value: { conversationId: `${MAIL}${" x".repeat(extra)}` } },
        }),
      );
      call.message(message("sent", bytes));
    }
    call.end(END);
    recorder.close();
    const records = messagesOf(await readAll());
    expect(records).toHaveLength(120);
    for (const [extra, { bytes }] of records.entries()) {
      const { message: read } = fromBinary(AgentClientMessageSchema, bytes);
      const { conversationId = "" } = read.case === "runRequest" ? read.value : {};
      expect(conversationId.length).toBe(MAIL.length + 2 * extra);
      expect(conversationId).not.toContain(MAIL);
    }
  });

  test("masks what is inside the hex of an append", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, APPEND);
    call.message(append("r-1", runRequest(`${MAIL} ${HOME}`)));
    call.end(END);
    recorder.close();
    const [{ bytes } = { bytes: Buffer.alloc(0) }] = messagesOf(await readAll());
    const { payload, requestId } = readAppend(fromBinary(BidiAppendRequestSchema, bytes));
    expect(requestId).toBe("r-1");
    const { message: read } = fromBinary(AgentClientMessageSchema, payload);
    expect(read.value).toMatchObject({
      conversationId: expect.stringMatching(/^\w{3}\.\w{8}@\w{7}\.\w{3} \/\w{4}\/\w{3}$/),
    });
    expect(Buffer.from(payload).includes(MAIL) || Buffer.from(payload).includes(HOME)).toBe(false);
  });

  test.each([1, 2, 3, 7, 20])("masks a secret that is streamed in pieces of %i bytes", async (size) => {
    const recorder = startRecorder();
    const call = startCall(recorder, RUN, { authorization: `Bearer ${TOKEN}` });
    const said = `Hello, write to ${MAIL} with Bearer abcdef-123456 or\n${TOKEN}, from ${HOME}/x, and so on. Bye`;
    for (let at = 0; at < said.length; at += size) call.message(delta(said.slice(at, at + size)));
    call.end(END);
    recorder.close();
    const text = messagesOf(await readAll())
      .map(({ bytes }) => textOf(bytes))
      .join("");
    expect(text.length).toBe(said.length);
    for (const secret of [MAIL, TOKEN, TOKEN.slice(20), HOME, "abcdef-123456"]) expect(text).not.toContain(secret);
    expect(text).toMatch(/^Hello, write to \S+ with Bearer \S{13} or\n\S+ from \S+ and so on\. Bye$/);
  });

  test("masks a secret that is streamed in the events of a public API", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, "/v1/messages");
    const said = `to "${MAIL}"\\ ok`;
    for (const text of said) {
      const data = JSON.stringify({ type: "content_block_delta", delta: { type: "text_delta", text } });
      call.message(message("received", Buffer.from(JSON.stringify(["content_block_delta", data])), "event"));
    }
    call.end(END);
    recorder.close();
    const text = messagesOf(await readAll())
      .map(({ bytes }) => JSON.parse(JSON.parse(Buffer.from(bytes).toString())[1]).delta.text)
      .join("");
    expect(text).toMatch(/^to "\w{3}\.\w{8}@\w{7}\.\w{3}"\\ ok$/);
    expect(text).not.toMatch(/ada|lovelace|example/);
  });

  test("masks what a field calls a secret, there and everywhere", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, `/auth/exchange?token=query-secret-1`);
    call.message(
      message(
        "received",
        Buffer.from(JSON.stringify({ accessToken: "plain words 1", a: ["x\nplain words 1"] })),
        "body",
      ),
    );
    call.message(delta("plain words 1 query-secret-1 "));
    call.end(END);
    recorder.close();
    const bytes = readFileSync(file);
    expect([bytes.includes("plain words 1"), bytes.includes("query-secret-1")]).toEqual([false, false]);
    expect(JSON.parse(Buffer.from(messagesOf(await readAll())[0]?.bytes ?? []).toString()).a[0]).toMatch(/^x\n\w/);
  });

  test.each(["secret_key", "accessKey", "path_encryption_key", "privateKey"])(
    "SEC-52 masks the value of %s",
    (name) => {
      const recorder = startRecorder();
      const call = startCall(recorder, "/a");
      call.message(message("sent", Buffer.from(JSON.stringify({ [name]: "plain words 1" })), "body"));
      call.message(message("sent", Buffer.from(JSON.stringify({ text: `{"${name}":"other words 2"}` })), "body"));
      recorder.close();
      const bytes = readFileSync(file);
      expect([bytes.includes("plain words 1"), bytes.includes("other words 2")]).toEqual([false, false]);
    },
  );

  test("writes the records of a call in their order, however long a text is open", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, RUN);
    call.message(delta("open"));
    const words = Array.from({ length: 3000 }, (_, index) => `n${index}`);
    for (const word of words) call.message(delta(word));
    call.end(END);
    recorder.close();
    const records = await readAll();
    expect(messagesOf(records).map(({ bytes }) => textOf(bytes))).toEqual(["open", ...words]);
    expect(records.at(-1)?.type).toBe("end");
  });
});

test("writes deltas that come together as one record, in their order and at their time among all calls", async () => {
  let time = 0;
  const recorder = startRecorder({ now: () => ++time });
  const [call, other] = [startCall(recorder, RUN), startCall(recorder, RUN)];
  const frame = (text: string) => encodeFrame(delta(text).bytes);
  const chunk = Buffer.concat([frame("a "), frame("b ")]);
  expect(call.deltas("received", chunk, 0)).toBe(chunk.length);
  call.message(
    server({
      message: { case: "interactionUpdate", value: { message: { case: "summary", value: { summary: "s" } } } },
    }),
  );
  expect(call.deltas("received", frame("c "), 0)).toBe(frame("c ").length);
  other.message(message("sent", runRequest("c-1")));
  expect(call.deltas("received", frame("d "), 0)).toBe(frame("d ").length);
  await new Promise(setImmediate);
  expect(call.deltas("received", frame("e "), 0)).toBe(frame("e ").length);
  call.end(END);
  recorder.close();
  expect(recorder.counts.messages).toBe(7);
  const times = messagesOf(await readAll()).flatMap((record) => (record.call === 1 ? [record.at] : []));
  // 1 and 2: the calls; 6 and 7: the other one's conversation and message.
  expect(times).toEqual([3, 3, 4, 5, 8, 9]);
});

test("notes the new id of a blob whose content was masked", async () => {
  const content = Buffer.from(JSON.stringify({ role: "user", content: `I am ${MAIL}` }));
  const recorder = startRecorder();
  const call = startCall(recorder, RUN);
  const set = (blobData: Buffer) =>
    server({
      message: {
        case: "kvServerMessage",
        value: { id: 1, message: { case: "setBlobArgs", value: { blobId: blobIdOf(blobData), blobData } } },
      },
    });
  call.message(set(content));
  call.message(set(Buffer.from("nothing to hide")));
  call.end(END);
  recorder.close();
  const records = await readAll();
  const [masked] = messagesOf(records).map(({ bytes }) => {
    const { message: top } = fromBinary(AgentServerMessageSchema, bytes);
    const inner = top.case === "kvServerMessage" ? top.value.message : undefined;
    return inner?.case === "setBlobArgs" ? inner.value : undefined;
  });
  expect(Buffer.from(masked?.blobId ?? [])).toEqual(blobIdOf(content));
  expect(records.filter(({ type }) => type === "note")).toMatchObject([
    {
      note: {
        type: "blob",
        from: hexId(blobIdOf(content)),
        to: hexId(blobIdOf(masked?.blobData ?? Buffer.alloc(0))),
      },
    },
  ]);
});

test("notes the conversation of every call of a run, also of those before it is known", async () => {
  const recorder = startRecorder();
  const download = startCall(recorder, RUN_SSE);
  const id = create(BidiRequestIdSchema, { requestId: "r-1" });
  download.message(message("sent", toBinary(BidiRequestIdSchema, id)));
  const first = startCall(recorder, APPEND);
  first.message(append("r-1", runRequest("c-1")));
  first.end(END);
  const second = startCall(recorder, APPEND);
  second.message(append("r-1", Buffer.alloc(0), 1n));
  second.end(END);
  const other = startCall(recorder, RUN);
  other.message(message("sent", runRequest("c-2")));
  other.end(END);
  download.end(END);
  recorder.close();
  const notes = (await readAll()).flatMap((record) =>
    record.type === "note" && record.note.type === "conversation" ? [[record.call, record.note.id]] : [],
  );
  expect(notes.toSorted()).toEqual([
    [1, "c-1"],
    [2, "c-1"],
    [3, "c-1"],
    [4, "c-2"],
  ]);
  expect(recorder.counts).toMatchObject({ calls: 4, conversations: 2 });
});

test.each(["none", "hash"] as const)(
  "with content %s, keeps the length of texts but not the texts",
  async (content) => {
    const recorder = startRecorder({ content });
    const call = startCall(recorder, RUN);
    call.message(message("sent", runRequest("c-1")));
    call.message(delta("the plan"));
    call.message(delta("the plan"));
    call.message(delta("another!"));
    call.message(message("received", Buffer.from(JSON.stringify({ id: "i-1", words: ["the plan"] })), "body"));
    call.end(END);
    recorder.close();
    expect(readFileSync(file).includes("the plan")).toBe(false);
    const messages = messagesOf(await readAll());
    const texts = messages.slice(1, 4).map(({ bytes }) => textOf(bytes));
    expect(texts.map(({ length }) => length)).toEqual([8, 8, 8]);
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0] === texts[2]).toBe(content === "none");
    expect(Buffer.from(messages[0]?.bytes ?? []).includes("c-1")).toBe(true);
    expect(JSON.parse(Buffer.from(messages[4]?.bytes ?? []).toString())).toMatchObject({
      id: "i-1",
      words: [texts[0]],
    });
  },
);
