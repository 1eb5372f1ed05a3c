import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder, type RecorderOptions } from "../../src/capture/recorder.ts";
import type { CapturedMessage, CaptureRecord } from "../../src/capture/records.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend, readAppend } from "../../src/wire/agent/bidi-append.ts";
import { encodeFrame } from "../../src/wire/connect/envelope.ts";

const RUN = "/agent.v1.AgentService/Run";
const RUN_SSE = "/agent.v1.AgentService/RunSSE";
const APPEND = "/aiserver.v1.BidiService/BidiAppend";
const TOKEN = "opaque-token-0123456789-abcdefgh-9876543210";
const MAIL = "ada.lovelace@example.com";
const KEY = "known-key-0123456789";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "recorder-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

const startRecorder = (options: RecorderOptions = {}) =>
  new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable }), options);

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

test("SEC-52 writes no credential of a header and no secret that is known, and everything else as it was", async () => {
  const recorder = startRecorder({ secrets: [KEY] });
  const call = startCall(recorder, `/auth/exchange?token=query-secret-1&mail=${MAIL}`, {
    authorization: `Bearer ${TOKEN}`,
    "x-auth-token": "short",
    "user-agent": MAIL,
  });
  call.response({ status: 200, headers: { "set-cookie": "session=opaque-session-0123; Path=/" } });
  const said = `write to ${MAIL} with`;
  call.message(
    message("received", Buffer.from(`${said} ${TOKEN}, ${KEY}, query-secret-1, opaque-session-0123`), "body"),
  );
  call.message(append("r-1", runRequest(`c-1 ${KEY}`)));
  call.end({ ...END, trailers: { "x-api-key": "trailing-secret", other: KEY } });
  recorder.close();
  const bytes = readFileSync(file);
  for (const secret of [TOKEN, KEY, "query-secret-1", '"short"', "opaque-session", "trailing-secret"]) {
    for (const form of [secret, Buffer.from(secret).toString("hex")]) {
      expect([form, bytes.includes(form)]).toEqual([form, false]);
    }
  }
  const records = await readAll();
  expect(records[0]).toMatchObject({ head: { headers: { "user-agent": MAIL } } });
  const [answer, uploaded] = messagesOf(records);
  expect(String(answer?.bytes)).toMatch(new RegExp(`^${said} [xyz-]{43}, [xyz-]{20}, [xyz-]{14}, [xyz-]{19}$`));
  // What is masked in hex is a text still.
  const { payload } = readAppend(fromBinary(BidiAppendRequestSchema, uploaded?.bytes ?? Buffer.alloc(0)));
  expect(fromBinary(AgentClientMessageSchema, payload).message.value).toMatchObject({
    conversationId: expect.stringMatching(/^c-1 [xyz-]{20}$/),
  });
});

test("writes the records of a call in their order", async () => {
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

test("writes frames that came together as one record, in their order and at their time among all calls", async () => {
  let time = 0;
  const recorder = startRecorder({ now: () => ++time });
  const [call, other] = [startCall(recorder, RUN), startCall(recorder, RUN)];
  const frames = (...texts: string[]) => Buffer.concat(texts.map((text) => encodeFrame(delta(text).bytes)));
  call.frames("received", frames("a ", "b "));
  other.message(message("sent", runRequest("c-1")));
  call.frames("received", frames("c "));
  call.frames("received", frames("d "));
  other.message(message("sent", runRequest("c-1")));
  call.frames("received", frames("e "));
  call.end(END);
  recorder.close();
  expect(recorder.counts.messages).toBe(7);
  const received = messagesOf(await readAll()).filter((record) => record.call === 1);
  // 1 and 2: the calls; 4 and 5: the other one's conversation and message.
  expect(received.map(({ at, bytes }) => [at, textOf(bytes)])).toEqual([
    [3, "a "],
    [3, "b "],
    [6, "c "],
    [6, "d "],
    [8, "e "],
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
