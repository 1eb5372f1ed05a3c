import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { Masker } from "../../src/capture/mask/masker.ts";
import { MaskedCapture, type MaskedCaptureOptions } from "../../src/capture/masked-capture.ts";
import { CaptureRecorder, type RecorderOptions } from "../../src/capture/recorder.ts";
import type { CapturedMessage, CaptureRecord } from "../../src/capture/records.ts";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend, readAppend } from "../../src/wire/agent/bidi-append.ts";
import { maskedBytes, maskedRecords, openMasked } from "./support/masked-records.ts";

const RUN = "/agent.v1.AgentService/Run";
const _RUN_SSE = "/agent.v1.AgentService/RunSSE";
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

/** The records as they are shown. */
const readAll = (options?: MaskedCaptureOptions): Promise<CaptureRecord[]> =>
  maskedRecords(new MaskedCapture(file, new Masker([HOME, TOKEN]), options));

const messagesOf = (records: readonly CaptureRecord[]) => records.filter((record) => record.type === "message");

function textOf(bytes: Uint8Array): string {
  const { message: top } = fromBinary(AgentServerMessageSchema, bytes);
  if (top.case !== "interactionUpdate" || top.value.message.case !== "textDelta") return "";
  return top.value.message.value.text;
}

const shellOutput = (data: string, id = 1) =>
  toBinary(
    AgentClientMessageSchema,
    create(AgentClientMessageSchema, {
      message: {
        case: "execClientMessage",
        value: { id, message: { case: "shellStream", value: { event: { case: "stdout", value: { data } } } } },
      },
    }),
  );

function shellText(bytes: Uint8Array): string {
  const { message: top } = fromBinary(AgentClientMessageSchema, bytes);
  const stream = top.case === "execClientMessage" ? top.value.message : undefined;
  const event = stream?.case === "shellStream" ? stream.value.event : undefined;
  return event?.case === "stdout" ? event.value.data : "";
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
    const bytes = Buffer.concat(messagesOf(await readAll()).map((record) => record.bytes));
    expect([bytes.includes("plain words 1"), bytes.includes("query-secret-1")]).toEqual([false, false]);
    expect(JSON.parse(Buffer.from(messagesOf(await readAll())[0]?.bytes ?? []).toString()).a[0]).toMatch(/^x\n\w/);
  });

  test.each(["secret_key", "accessKey", "path_encryption_key", "privateKey"])(
    "SEC-52 masks the value of %s",
    async (name) => {
      const recorder = startRecorder();
      const call = startCall(recorder, "/a");
      call.message(message("sent", Buffer.from(JSON.stringify({ [name]: "plain words 1" })), "body"));
      call.message(message("sent", Buffer.from(JSON.stringify({ text: `{"${name}":"other words 2"}` })), "body"));
      recorder.close();
      const bytes = Buffer.concat(messagesOf(await readAll()).map((record) => record.bytes));
      expect([bytes.includes("plain words 1"), bytes.includes("other words 2")]).toEqual([false, false]);
    },
  );

  test("masks what several texts at the same time cut into pieces, each by itself", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, RUN);
    const [one, two] = [`write to ${MAIL} now`, "and to grace.hopper@example.org then"];
    for (let at = 0; at < 40; at += 4) {
      call.message(message("sent", shellOutput(one.slice(at, at + 4), 1)));
      call.message(message("sent", shellOutput(two.slice(at, at + 4), 2)));
    }
    recorder.close();
    const texts = messagesOf(await readAll()).map(({ bytes }) => shellText(bytes));
    const of = (wanted: number) => texts.filter((_, index) => index % 2 === wanted).join("");
    expect(of(0)).toMatch(/^write to [xyz]{3}\.[xyz]{8}@[xyz]{7}\.[xyz]{3} now$/);
    expect(of(1)).toMatch(/^and to [xyz]{5}\.[xyz]{6}@[xyz]{7}\.[xyz]{3} then$/);
  });

  test.each([
    ["events", "event", (data: string) => JSON.stringify(["", data])],
    ["lines of JSON in one body", "body", (data: string) => `${data}\n`],
    ["a list of JSON in one body", "body", (data: string) => data],
  ] as const)("masks a secret that is cut into %s", async (_, form, write) => {
    const recorder = startRecorder();
    const call = startCall(recorder, "/v1/x");
    const cut = [..."to ada.lovelace@example.com"].map((text) => JSON.stringify({ index: 0, text }));
    if (form === "event") for (const data of cut) call.message(message("received", Buffer.from(write(data)), form));
    else {
      const body = _.startsWith("a list") ? `[${cut.join(",")}]` : cut.map(write).join("");
      call.message(message("received", Buffer.from(body), form));
    }
    recorder.close();
    const shown = Buffer.concat(messagesOf(await readAll()).map(({ bytes }) => bytes)).toString();
    const letters = [...shown.replaceAll("\\", "").matchAll(/"text":"(.)"/g)].map(([, letter]) => letter).join("");
    expect(letters).toMatch(/^to [xyz]{3}\.[xyz]{8}@[xyz]{7}\.[xyz]{3}$/);
  });

  test("masks a secret that is cut into the uploads of a run", async () => {
    const recorder = startRecorder();
    for (const text of ["from ada.love", "lace@example.com"]) {
      const call = startCall(recorder, APPEND, { "x-request-id": "r-1" });
      call.message(append("r-1", shellOutput(text)));
      call.end(END);
    }
    recorder.close();
    const texts = messagesOf(await readAll()).map(({ bytes }) =>
      shellText(readAppend(fromBinary(BidiAppendRequestSchema, bytes)).payload),
    );
    expect(texts.join("")).toMatch(/^from [xyz]{3}\.[xyz]{8}@[xyz]{7}\.[xyz]{3}$/);
  });

  test("a report holds the same records, masked, and masks nothing twice", async () => {
    const recorder = startRecorder();
    const call = startCall(recorder, RUN, { authorization: `Bearer ${TOKEN}` });
    call.message(delta(`write to ${MAIL.slice(0, 5)}`));
    call.message(delta(`${MAIL.slice(5)} now`));
    call.end(END);
    recorder.close();
    const shown = await readAll();
    const capture = openMasked(file);
    await capture.learn();
    const bytes = await maskedBytes(capture);
    expect([bytes.includes("lovelace"), bytes.length]).toEqual([false, statSync(file).size]);
    writeFileSync(file, bytes);
    const again = await readAll();
    expect(again).toHaveLength(shown.length);
    expect((await maskedBytes(openMasked(file))).equals(bytes)).toBe(true);
  });
});

test("without content, keeps the length of texts but not the texts", async () => {
  const recorder = startRecorder();
  const call = startCall(recorder, RUN);
  call.message(message("sent", runRequest("c-1")));
  call.message(delta("the plan"));
  call.message(message("received", Buffer.from(JSON.stringify({ id: "i-1", words: ["the plan"] })), "body"));
  call.end(END);
  recorder.close();
  const messages = messagesOf(await readAll({ hasContent: false }));
  expect(messages.slice(1, 2).map(({ bytes }) => textOf(bytes))).toEqual(["xxxxxxxx"]);
  expect(Buffer.from(messages[0]?.bytes ?? []).includes("c-1")).toBe(true);
  expect(JSON.parse(String(messages[2]?.bytes))).toEqual({ id: "i-1", words: ["xxxxxxxx"] });
});
