import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { DeltaFinder } from "../../../src/capture/mask/delta-finder.ts";
import { Masker } from "../../../src/capture/mask/masker.ts";
import { MessageMasker } from "../../../src/capture/mask/message-masker.ts";
import type { InteractionUpdateSchema } from "../../../src/gen/agent/v1/interaction_pb.ts";
import { AgentServerMessageSchema } from "../../../src/gen/agent/v1/run_pb.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "../../../src/wire/connect/envelope.ts";

type Update = NonNullable<MessageInitShape<typeof InteractionUpdateSchema>["message"]>;

const SECRET = "opaque-token-0123456789";
const encode = (message: Update) =>
  toBinary(
    AgentServerMessageSchema,
    create(AgentServerMessageSchema, { message: { case: "interactionUpdate", value: { message } } }),
  );

const finder = new DeltaFinder(AgentServerMessageSchema);
const masker = new Masker();
masker.add(SECRET);
const messages = new MessageMasker(masker, "full");

/** Returns the pieces of a message as the finder has them. Undefined if it is no delta. */
function find(payload: Uint8Array, flags = 0) {
  if (!finder.find(Buffer.concat([Buffer.of(9, 9), encodeFrame(payload, flags)]), 2)) return undefined;
  return Array.from({ length: finder.count }, (_, index) => ({
    stream: finder.streams[index],
    start: (finder.starts[index] ?? 0) - 7,
    end: (finder.ends[index] ?? 0) - 7,
  }));
}

describe("SEC-52 a message that takes the short way", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.constantFrom("", " ", SECRET, '"token":"12345678"', '"a": "b", "apiKey": "0123456789abcdef"', "x".repeat(300)),
  );
  const callId = fc.oneof(fc.constantFrom("call-1", SECRET), fc.string());
  const update: fc.Arbitrary<Update> = fc.oneof(
    text.map((value): Update => ({ case: "textDelta", value: { text: value } })),
    text.map((value): Update => ({ case: "thinkingDelta", value: { text: value } })),
    fc
      .tuple(callId, text)
      .map(([id, value]): Update => ({ case: "partialToolCall", value: { callId: id, argsTextDelta: value } })),
    fc.nat().map((tokens): Update => ({ case: "tokenDelta", value: { tokens } })),
    fc.constant<Update>({ case: "heartbeat", value: {} }),
    text.map((value): Update => ({ case: "summary", value: { summary: value } })),
  );
  const change = fc.tuple(fc.nat(1000), fc.nat(255));
  /** Bytes that are often tags, lengths and letters. */
  const bytes = fc.uint8Array({ max: 0x7f, maxLength: 30 });
  const message = fc.oneof(
    update.map((value) => encode(value)),
    fc.tuple(update, fc.array(change, { maxLength: 3 })).map(([value, changes]) => {
      const payload = Buffer.from(encode(value));
      for (const [at, byte] of changes) if (payload.length > 0) payload[at % payload.length] = byte;
      return payload;
    }),
    bytes,
    fc.tuple(update, bytes).map(([value, more]) => Buffer.concat([encode(value), more])),
  );

  test("has only the texts that the masker joins, and nothing that it masks, learns or notes", () => {
    fc.assert(
      fc.property(message, (payload) => {
        const found = find(payload);
        fc.pre(found !== undefined);
        const learned = vi.spyOn(masker, "add");
        const message = { direction: "received", form: "frame", flags: 0, wasCompressed: false } as const;
        const masked = messages.mask({ ...message, bytes: payload }, AgentServerMessageSchema);
        expect(masked.pieces).toEqual(found);
        expect(masked.bytes.equals(payload)).toBe(true);
        expect(masked.notes).toEqual([]);
        expect([masked.conversationId, masked.requestId]).toEqual([undefined, undefined]);
        expect(learned).not.toHaveBeenCalled();
      }),
      { numRuns: 1000 },
    );
  });

  test.each<[string, Update, number]>([
    ["a text", { case: "textDelta", value: { text: "hello" } }, 1],
    ["a thought", { case: "thinkingDelta", value: { text: "hm" } }, 1],
    ["a count", { case: "tokenDelta", value: { tokens: 300 } }, 0],
    ["an empty text", { case: "textDelta", value: { text: "" } }, 0],
    ["a heartbeat", { case: "heartbeat", value: {} }, 0],
  ])("is %s", (_, value, pieces) => {
    expect(find(encode(value))).toHaveLength(pieces);
  });

  test.each<[string, Uint8Array, number?]>([
    ["names a secret", encode({ case: "textDelta", value: { text: '{"password": "correct horse"}' } })],
    ["has a text that is not streamed", encode({ case: "summary", value: { summary: "all" } })],
    ["has an unknown field", Buffer.concat([encode({ case: "heartbeat", value: {} }), Buffer.of(0xfa, 0x3f, 1, 65)])],
    ["has as many other bytes as a secret", Buffer.alloc(8, 0x10)],
    ["is compressed", encode({ case: "textDelta", value: { text: "hello" } }), FLAG_COMPRESSED],
    ["ends the stream", Buffer.from("{}"), FLAG_END],
    ["ends within a field", encode({ case: "textDelta", value: { text: "hello" } }).subarray(0, -1)],
  ])("is none that %s", (_, payload, flags) => {
    expect(find(payload, flags)).toBeUndefined();
  });

  test("is whole", () => {
    const frame = encodeFrame(encode({ case: "textDelta", value: { text: "hello" } }));
    for (let length = 0; length < frame.length; length++) {
      expect(finder.find(frame.subarray(0, length), 0)).toBe(false);
    }
    expect(finder.find(frame, 0)).toBe(true);
  });
});
