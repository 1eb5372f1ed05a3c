import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { readBody } from "../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { encodeFrame, FLAG_COMPRESSED } from "../../src/wire/connect/envelope.ts";

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
/** What must not be in a capture, of each of them. */
const hidden = (secret: string): string =>
  /Bearer (.*)/.exec(secret)?.[1] ?? /home\/(\w+)/.exec(secret)?.[1] ?? /[:="](url-\w+)/.exec(secret)?.[1] ?? secret;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "split-"));
  file = join(folder, "a.capture");
});
afterEach(() => {
  vi.useRealTimers();
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

/** Records answers that come in these chunks. Returns their texts as recorded, after a check that no file or text has the secret. */
async function record(answers: readonly (readonly Uint8Array[])[], secret: string, afterChunk = () => {}) {
  rmSync(file, { force: true });
  const writer = new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable });
  const recorder = new CaptureRecorder(writer, { secrets: secret === PHRASE ? [PHRASE] : [TOKEN] });
  for (const chunks of answers) {
    const call = recorder.call(HEAD);
    const body = readBody("received", HEADERS, call);
    for (const chunk of chunks) {
      body.push(chunk);
      afterChunk();
    }
    body.end();
    call.end({ outcome: "ok", sentBytes: 0, receivedBytes: body.bytes });
  }
  recorder.close();
  const texts = answers.map(() => ({ textDelta: "", thinkingDelta: "" }));
  for await (const stored of readCapture(file)) {
    const message = stored.read();
    const answer = texts[stored.call - 1];
    if (message?.type !== "message" || !answer) continue;
    const { message: top } = fromBinary(AgentServerMessageSchema, message.bytes);
    const inner = top.case === "interactionUpdate" ? top.value.message : undefined;
    if (inner?.case === "textDelta" || inner?.case === "thinkingDelta") answer[inner.case] += inner.value.text;
  }
  expect(readFileSync(file, "latin1")).not.toContain(hidden(secret));
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
  // Masks have no capitals, and five letters are never the same by chance.
  for (const [word] of hidden(secret).matchAll(/\w{5,}|[A-Z]\w+/g))
    expect(recorded?.slice(start, end)).not.toContain(word);
}

const upTo = (length: number) => Array.from({ length: length + 1 }, (_, index) => index);

describe.each(Object.entries(SECRETS))("SEC-52 a secret (%s)", (_, secret) => {
  const said = `ask ${secret} now, and go on`;

  async function expectAllMasked(answers: readonly (readonly Uint8Array[])[], afterChunk?: () => void) {
    const recorded = await record(answers, secret, afterChunk);
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

  test("is masked if batches end at any of its bytes", () => {
    // The timer, which ends a batch, comes after every piece.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const answers = upTo(said.length).map((at) =>
      [...pieces(said.slice(0, at), 3), ...pieces(said.slice(at), 3)].map(textFrame),
    );
    return expectAllMasked(answers, () => vi.advanceTimersByTime(100));
  });

  test.each([
    ["text", "word ", 4096],
    ["a word without an end", "0123456789", 16 * 1024],
  ])("is masked at the end of a full batch of %s", async (__, filler, size) => {
    const texts = upTo(secret.length + 16)
      .filter((at) => at % 5 === 0)
      .map((at) => `${filler.repeat(size).slice(0, size - at + 8)} ${said} ${filler.repeat(1000)}`);
    const recorded = await record(
      texts.map((text) => pieces(text, 7).map(textFrame)),
      secret,
    );
    for (const [index, text] of texts.entries()) expectMasked(recorded[index], text, secret);
  });
});

test("SEC-52 a registered secret is masked wherever it is in a word without an end", async () => {
  const places = upTo(20).flatMap((at) => [12 * 1024 - 40 + 3 * at, 16 * 1024 - 40 + 3 * at]);
  const texts = places.map((at) => `${"0".repeat(at)}${TOKEN}${"0".repeat(8000)}`);
  const recorded = await record(
    texts.map((text) => pieces(text, 11).map(textFrame)),
    TOKEN,
  );
  for (const [index, text] of texts.entries()) expectMasked(recorded[index], text, TOKEN);
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

test("a text that pauses is written after five seconds, whatever else comes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const writer = new CaptureWriter({ file, maxBytes: 1e8, onEnd: expect.unreachable });
  const recorder = new CaptureRecorder(writer);
  const body = readBody("received", HEADERS, recorder.call(HEAD));
  body.push(thinkingFrame("paused"));
  for (let tenths = 0; tenths < 55; tenths++) {
    body.push(textFrame("more words "));
    vi.advanceTimersByTime(100);
  }
  expect(readFileSync(file, "latin1").split("more words ").length).toBeGreaterThan(50);
  expect(readFileSync(file, "latin1")).toContain("paused");
  recorder.close();
});
