import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { decodeDelta } from "../../src/wire/agent/delta.ts";
import { encodeFrame, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import { type BenchResult, interleave, medianRatio } from "../harness/measure.ts";

const TEXTS = ["Hello", " world", ", the", " quick brown", " fox", " jumps over", " naïve", " 日本", "\n\n", "."];
const MESSAGES = 200_000;
const CHUNK_BYTES = 16_384;

/** Measures the cost of checking: our decoder against one that trusts every offset. */
export async function measureTextDelta(): Promise<BenchResult[]> {
  const chunks = makeChunks();
  const times = interleave({
    unchecked: () => read(chunks, uncheckedText),
    checked: () => read(chunks, checkedText),
    generated: () => read(chunks, generatedText),
  });
  const payloads = makePayloads();
  const alone = interleave({
    unchecked: () => decodeAll(payloads, uncheckedText),
    checked: () => decodeAll(payloads, checkedText),
  });
  return [
    {
      name: "text delta, without framing: checked / unchecked decoder",
      value: medianRatio(alone.checked, alone.unchecked),
      bound: 2,
      note: `${nanoseconds(alone.checked)} ns a message`,
    },
    {
      name: "text delta: checked / unchecked decoder",
      value: medianRatio(times.checked, times.unchecked),
      bound: 2,
      note: `${nanoseconds(times.checked)} ns a message, framing included`,
    },
    {
      name: "text delta: generated codec / unchecked decoder",
      value: medianRatio(times.generated, times.unchecked),
      note: `${nanoseconds(times.generated)} ns a message`,
    },
  ];
}

function makePayloads(): Uint8Array[] {
  return TEXTS.map((text) =>
    Buffer.from(
      toBinary(
        AgentServerMessageSchema,
        create(AgentServerMessageSchema, {
          message: { case: "interactionUpdate", value: { message: { case: "textDelta", value: { text } } } },
        }),
      ),
    ),
  );
}

function makeChunks(): Uint8Array[] {
  const frames = makePayloads().map((payload) => encodeFrame(payload));
  const stream = Buffer.concat(Array.from({ length: MESSAGES / frames.length }, () => frames).flat());
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < stream.length; at += CHUNK_BYTES) chunks.push(stream.subarray(at, at + CHUNK_BYTES));
  return chunks;
}

function decodeAll(payloads: readonly Uint8Array[], textOf: (payload: Uint8Array) => string | undefined): void {
  let length = 0;
  for (let n = 0; n < MESSAGES / payloads.length; n++) {
    for (const payload of payloads) length += textOf(payload)?.length ?? Number.NaN;
  }
  expectAllText(length);
}

function read(chunks: readonly Uint8Array[], textOf: (payload: Uint8Array) => string | undefined): void {
  const decoder = new FrameDecoder({ maxFrameBytes: 1024 });
  let length = 0;
  const onFrame = (_: number, payload: Uint8Array) => {
    length += textOf(payload)?.length ?? Number.NaN;
  };
  for (const chunk of chunks) decoder.push(chunk, onFrame);
  expectAllText(length);
}

function expectAllText(length: number): void {
  const expected = (TEXTS.join("").length * MESSAGES) / TEXTS.length;
  if (length !== expected) throw new Error(`expected ${expected} characters, got ${length}`);
}

/** Correct for these messages only: three one-byte lengths, one member, nothing else. */
function uncheckedText(payload: Uint8Array): string {
  return (payload as Buffer & { utf8Slice(start: number, end: number): string }).utf8Slice(6, payload.length);
}

function checkedText(payload: Uint8Array): string | undefined {
  return decodeDelta(payload)?.text;
}

function generatedText(payload: Uint8Array): string | undefined {
  const { message } = fromBinary(AgentServerMessageSchema, payload);
  if (message.case !== "interactionUpdate") return undefined;
  const update = message.value.message;
  return update.case === "textDelta" ? update.value.text : undefined;
}

function nanoseconds(times: readonly number[]): number {
  return Math.round(Math.min(...times) / MESSAGES);
}
