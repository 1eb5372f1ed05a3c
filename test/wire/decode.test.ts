import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { ErrorDetailsSchema } from "../../src/gen/aiserver/v1/error_pb.ts";
import { type Delta, decodeDelta, encodeDelta } from "../../src/wire/agent/delta.ts";
import { decodeMessage } from "../../src/wire/connect/decode-message.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

/** What the generated codec makes of the same bytes, if it is a delta and nothing but a delta. */
function slowDelta(bytes: Uint8Array): Delta | undefined {
  const { message } = decodeMessage(AgentServerMessageSchema, bytes);
  if (message.case !== "interactionUpdate") return undefined;
  const update = message.value.message;
  if (update.case === "textDelta" && !update.value.isServerNotice) return { kind: "text", text: update.value.text };
  if (update.case !== "thinkingDelta" || update.value.thinkingStyle !== undefined) return undefined;
  return { kind: "thinking", text: update.value.text };
}

const deltaBytes = (member: "textDelta" | "thinkingDelta", text: string): Uint8Array =>
  toBinary(
    AgentServerMessageSchema,
    create(AgentServerMessageSchema, {
      message: { case: "interactionUpdate", value: { message: { case: member, value: { text } } } },
    }),
  );

describe("decodeDelta", () => {
  test.each<[name: string, bytes: string, expected: Delta | undefined]>([
    ["text_delta hi", "0a06 0a04 0a026869", { kind: "text", text: "hi" }],
    ["thinking_delta hm", "0a06 2204 0a02686d", { kind: "thinking", text: "hm" }],
    ["an empty text that is there", "0a04 0a02 0a00", { kind: "text", text: "" }],
    ["no text field", "0a02 0a00", undefined],
    ["nothing", "", undefined],
    ["thinking_completed", "0a05 2a03 08b009", undefined],
    ["heartbeat", "0a02 6a00", undefined],
    ["turn_ended", "0a02 7200", undefined],
    ["a server notice", "0a08 0a06 0a026869 1001", undefined],
    ["a thinking style", "0a08 2206 0a02686d 1002", undefined],
    ["a second update behind", "0a06 0a04 0a026869 0a06 0a04 0a026869", undefined],
    ["an unknown field behind", "0a06 0a04 0a026869 f80701", undefined],
    ["a cut one", "0a06 0a04 0a0268", undefined],
    ["an exec message", "12025200", undefined],
    ["a length without end", "0affffffffff", undefined],
  ])("golden bytes: %s", (_, bytes, expected) => {
    expect(decodeDelta(hex(bytes))).toEqual(expected);
  });

  test.each([1, 121, 122, 123, 127, 128, 129, 16_000, 16_383, 16_384, 3_000_000])(
    "lengths of several bytes: %i",
    (n) => {
      const text = "x".repeat(n);
      expect(decodeDelta(deltaBytes("textDelta", text))).toEqual({ kind: "text", text });
    },
  );

  test("encodeDelta writes what the generated codec writes", () => {
    for (const text of ["hi", "ä€😀", "x".repeat(200), "x".repeat(20_000)]) {
      expect(Buffer.from(encodeDelta({ kind: "text", text }))).toEqual(Buffer.from(deltaBytes("textDelta", text)));
      const thinking = encodeDelta({ kind: "thinking", text });
      expect(Buffer.from(thinking)).toEqual(Buffer.from(deltaBytes("thinkingDelta", text)));
    }
  });

  test("REL-20: agrees with the generated codec on any text", () => {
    const text = fc.string({ unit: "binary", maxLength: 300 });
    fc.assert(
      fc.property(fc.constantFrom("textDelta" as const, "thinkingDelta" as const), text, (member, said) => {
        const bytes = deltaBytes(member, said.toWellFormed());
        const fast = decodeDelta(bytes);
        // Proto3 leaves an empty text out, which is the general path's business.
        if (said !== "")
          expect(fast).toEqual({ kind: member === "textDelta" ? "text" : "thinking", text: said.toWellFormed() });
        if (fast) expect(fast).toEqual(slowDelta(bytes));
      }),
    );
  });

  test("FUZ-02: on any bytes it agrees with the generated codec or says nothing, and never throws", () => {
    const nested = fc.uint8Array({ maxLength: 40 }).map((text) => {
      const delta = Buffer.concat([Buffer.from([0x0a, text.length]), text]);
      const update = Buffer.concat([Buffer.from([0x0a, delta.length]), delta]);
      return Buffer.concat([Buffer.from([0x0a, update.length]), update]);
    });
    const mutated = fc.tuple(nested, fc.nat(60), fc.nat(255)).map(([bytes, at, value]) => {
      if (at < bytes.length) bytes[at] = value;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), nested, mutated), (bytes) => {
        const fast = decodeDelta(bytes);
        if (fast) expect(fast).toEqual(slowDelta(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  test("REL-20, SEC-25: invalid UTF-8 becomes U+FFFD, the same as on the general path", () => {
    for (const bytes of ["ff", "c3", "f09f98", "eda080", "61ff62", "efbbbf61", "00", "c080"]) {
      const text = hex(bytes);
      const delta = Buffer.concat([hex("0a"), Buffer.from([text.length]), text]);
      const update = Buffer.concat([hex("0a"), Buffer.from([delta.length]), delta]);
      const message = Buffer.concat([hex("0a"), Buffer.from([update.length]), update]);
      const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(text);
      expect(decodeDelta(message)).toEqual({ kind: "text", text: expected });
      expect(slowDelta(message)).toEqual({ kind: "text", text: expected });
    }
  });
});

describe("decodeMessage", () => {
  test("SEC-25: text in maps, lists and nested messages is repaired, everything else kept", () => {
    const bad = "a\ud800b";
    const good = create(ErrorDetailsSchema, {
      error: 29,
      details: { title: "tXtle", detail: "fine", isRetryable: true, additionalInfo: { kXy: "vXlue", other: "ok" } },
    });
    const bytes = Buffer.from(toBinary(ErrorDetailsSchema, good));
    for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x58) bytes[at] = 0xff;
    expect(() => fromBinary(ErrorDetailsSchema, bytes)).toThrow();
    const decoded = decodeMessage(ErrorDetailsSchema, bytes);
    expect(decoded.details).toMatchObject({
      title: "t\ufffdtle",
      detail: "fine",
      isRetryable: true,
      additionalInfo: { "k\ufffdy": "v\ufffdlue", other: "ok" },
    });
    expect(decoded.error).toBe(29);
    expect(bad.isWellFormed()).toBe(false);
  });

  test("unknown fields survive a repair", () => {
    const bytes = Buffer.concat([hex("0a06 0a04 0a02 ff69"), hex("f8 07 2a")]);
    const decoded = decodeMessage(AgentServerMessageSchema, bytes);
    expect(decoded.$unknown).toHaveLength(1);
    expect(slowDelta(bytes)).toEqual({ kind: "text", text: "\ufffdi" });
  });

  test("REL-17: what is no message is a typed error", () => {
    for (const bytes of ["0a05", "0f", "07", "0a0612", "ffffffffffffffffffffff"]) {
      expect(() => decodeMessage(AgentServerMessageSchema, hex(bytes))).toThrow(
        expect.objectContaining({ kind: "upstream-protocol", code: "message_invalid" }),
      );
    }
  });

  test("FUZ-02: any bytes end in a message or a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        try {
          decodeMessage(AgentServerMessageSchema, bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(ExcursorError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
