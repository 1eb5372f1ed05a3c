import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBody } from "../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { Masker } from "../../src/capture/mask/masker.ts";
import { StreamTexts } from "../../src/capture/mask/stream-texts.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { encodeFrame, FLAG_COMPRESSED } from "../../src/wire/connect/envelope.ts";
import { maskedBytes, maskedRecords, openMasked } from "./support/masked-records.ts";

const HEADERS = { "content-type": "application/connect+proto" };
const HEAD = {
  method: "POST",
  origin: "https://backend",
  path: "/agent.v1.AgentService/Run",
  headers: HEADERS,
  transport: "h2",
} as const;
const TOKEN = "opaque-token-0123456789";
const PHRASE = "Ada Lovelace, Countess";
const SECRETS = {
  known: TOKEN,
  "known, in hex": Buffer.from(TOKEN).toString("hex"),
  "known, of several words": PHRASE,
  bearer: "Bearer abcdefgh-12345678",
  jwt: "eyJhbGciOiJI.eyJzdWIiOiI3In0.c2lnbmF0dXJl",
  key: "sk-0123456789abcdefghij",
  mail: "grace.hopper@example.org",
  home: "/home/grace/x",
  "password in a URL": "https://me:url-password@host/",
  "variable of a file .env": "DB_PASSWORD=url-hunter2hunter2",
  "member of JSON": '"encryption_key": "url-hunter2hunter2"',
} as const;
/** What nobody may be shown, of each of them. */
const hidden = (secret: string): string =>
  /Bearer (.*)/.exec(secret)?.[1] ?? /home\/(\w+)/.exec(secret)?.[1] ?? /[:="](url-\w+)/.exec(secret)?.[1] ?? secret;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "split-"));
  file = join(folder, "a.capture");
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const server = (message: NonNullable<MessageInitShape<typeof AgentServerMessageSchema>["message"]>) =>
  toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message }));
const update = (kind: "textDelta" | "thinkingDelta", text: string) =>
  server({ case: "interactionUpdate", value: { message: { case: kind, value: { text } } } });
const textFrame = (text: string) => encodeFrame(update("textDelta", text));
const thinkingFrame = (text: string) => encodeFrame(update("thinkingDelta", text));
const gzipFrame = (text: string) => encodeFrame(gzipSync(update("textDelta", text)), FLAG_COMPRESSED);
const pieces = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));

/** Records answers that come in these chunks. Returns their texts as they are shown, after a check that none has the secret. */
async function record(answers: readonly (readonly Uint8Array[])[], secret: string) {
  rmSync(file, { force: true });
  const writer = new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable });
  const recorder = new CaptureRecorder(writer);
  for (const chunks of answers) {
    const call = recorder.call(HEAD);
    const body = readBody("received", HEADERS, call);
    for (const chunk of chunks) body.push(chunk);
    body.end();
    call.end({ outcome: "ok", sentBytes: 0, receivedBytes: body.bytes });
  }
  recorder.close();
  const texts = answers.map(() => ({ textDelta: "", thinkingDelta: "" }));
  const capture = openMasked(file, secret === PHRASE ? [PHRASE] : [TOKEN]);
  for (const message of await maskedRecords(capture)) {
    const answer = texts[message.call - 1];
    if (message.type !== "message" || !answer) continue;
    const { message: top } = fromBinary(AgentServerMessageSchema, message.bytes);
    const inner = top.case === "interactionUpdate" ? top.value.message : undefined;
    if (inner?.case === "textDelta" || inner?.case === "thinkingDelta") answer[inner.case] += inner.value.text;
  }
  expect((await maskedBytes(capture)).toString("latin1")).not.toContain(hidden(secret));
  for (const { textDelta, thinkingDelta } of texts) {
    expect(textDelta).not.toContain(hidden(secret));
    expect(thinkingDelta).not.toContain(hidden(secret));
  }
  return texts.map(({ textDelta }) => textDelta);
}

/** No word of a secret is left, and what stands around it stays. */
function expectMasked(recorded: string | undefined, said: string, secret: string): void {
  const start = said.indexOf(secret);
  const end = start + secret.length;
  expect(recorded).toHaveLength(said.length);
  expect([recorded?.slice(0, start), recorded?.slice(end)]).toEqual([said.slice(0, start), said.slice(end)]);
  // Masks have three letters only.
  for (const [word] of hidden(secret).matchAll(/\w{5,}|[A-Z]\w+/g))
    expect(recorded?.slice(start, end)).not.toContain(word);
}

const upTo = (length: number) => Array.from({ length: length + 1 }, (_, index) => index);

describe.each(Object.entries(SECRETS))("SEC-52 a secret (%s)", (_, secret) => {
  const said = `ask ${secret} now, and go on`;

  async function expectAllMasked(answers: readonly (readonly Uint8Array[])[]) {
    const recorded = await record(answers, secret);
    expect(recorded).toHaveLength(answers.length);
    for (const text of recorded) expectMasked(text, said, secret);
  }

  test("is masked if two frames split it at any byte", () =>
    expectAllMasked(upTo(said.length).map((at) => [textFrame(said.slice(0, at)), textFrame(said.slice(at))])));

  test("is masked in frames of any size, with other frames between them", () => {
    const heartbeat = server({ case: "interactionUpdate", value: { message: { case: "heartbeat", value: {} } } });
    const answer = (size: number) =>
      pieces(said, size).flatMap((piece, index) => [
        index % 3 === 0 ? gzipFrame(piece) : textFrame(piece),
        thinkingFrame(piece),
        encodeFrame(heartbeat),
      ]);
    return expectAllMasked([1, 2, 3, 5, 8, 13].map(answer));
  });

  test("is masked if two chunks split the stream at any byte", () => {
    const wire = Buffer.concat(pieces(said, 4).map(textFrame));
    return expectAllMasked(upTo(wire.length).map((at) => [wire.subarray(0, at), wire.subarray(at)]));
  });

  test("is masked where a long stream is masked in parts", () => {
    const masker = new Masker(secret === PHRASE ? [PHRASE] : [TOKEN]);
    // After so many pieces, or bytes, the first part is masked.
    const borders = secret === TOKEN ? [32 * 1024, 1024 * 1024] : [32 * 1024];
    for (const border of borders) {
      for (let at = 0; at < said.length; at += 17) {
        const text = `${"word ".repeat(border).slice(0, border - at)}${said}${" more".repeat(2000)}`;
        const streams = new StreamTexts(masker);
        const cut = pieces(text, border / (32 * 1024)).map((piece) => Buffer.from(piece));
        for (const [index, piece] of cut.entries()) streams.add("s", index, 0, piece);
        streams.end();
        expectMasked(cut.map((piece, index) => streams.at(index)?.get(0) ?? piece).join(""), text, secret);
      }
    }
  });
});

test("SEC-52 no split of a stream shows a secret or changes the rest", async () => {
  const said = `a ${SECRETS.mail} b ${SECRETS.key} c ${TOKEN} d`;
  const cutsOf = (max: number) => fc.array(fc.integer({ min: 0, max }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(cutsOf(said.length), cutsOf(1000), async (cuts, chunkCuts) => {
      const wire = Buffer.concat(split(said, cuts).map(textFrame));
      const [recorded] = await record([split(wire, chunkCuts)], TOKEN);
      expect(recorded).toMatch(/^a \w{5}\.\w{6}@\w{7}\.\w{3} b \w\w-\w{20} c [\w-]{23} d$/);
      for (const secret of [SECRETS.mail, SECRETS.key, TOKEN]) expect(recorded).not.toContain(secret);
    }),
    { numRuns: 60 },
  );
});

function split<Part extends { readonly length: number; slice(start: number, end: number): Part }>(
  whole: Part,
  cuts: readonly number[],
): readonly Part[] {
  const marks = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).toSorted((a, b) => a - b), whole.length];
  return marks.slice(1).map((mark, index) => whole.slice(marks[index] ?? 0, mark));
}
