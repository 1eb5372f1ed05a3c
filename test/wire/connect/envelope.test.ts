import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "../../../src/wire/connect/envelope.ts";

type Frame = readonly [flags: number, payload: string];

const MiB = 1024 * 1024;

function decode(chunks: Iterable<Uint8Array>, maxFrameBytes = MiB): Frame[] {
  const decoder = new FrameDecoder({ maxFrameBytes });
  const frames: Frame[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk, (flags, payload) => frames.push([flags, Buffer.from(payload).toString("hex")]));
  }
  decoder.finish();
  return frames;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ExcursorError) return error.code;
    throw error;
  }
  return "no error";
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("encodeFrame", () => {
  test.each([
    ["an empty message", encodeFrame(new Uint8Array(0)), "00 00000000"],
    ["a message", encodeFrame(hex("0a00")), "00 00000002 0a00"],
    ["a compressed message", encodeFrame(hex("1f8b"), FLAG_COMPRESSED), "01 00000002 1f8b"],
    ["the end", encodeFrame(Buffer.from("{}"), FLAG_END), "02 00000002 7b7d"],
  ])("golden bytes: %s", (_, frame, bytes) => {
    expect(frame).toEqual(hex(bytes));
  });
});

describe("FrameDecoder", () => {
  test("several frames of one chunk are views into it, a cut one is a copy", () => {
    const chunk = Buffer.concat([encodeFrame(hex("aa")), encodeFrame(hex("bbbb")), hex("00 00000002 cc")]);
    const decoder = new FrameDecoder({ maxFrameBytes: 10 });
    const payloads: Uint8Array[] = [];
    decoder.push(chunk, (_, payload) => payloads.push(payload));
    decoder.push(hex("cc"), (_, payload) => payloads.push(payload));
    chunk.fill(0);
    expect(payloads.map((payload) => Buffer.from(payload).toString("hex"))).toEqual(["00", "0000", "cccc"]);
  });

  test("FUZ-01: any frames in any cut give the same frames", () => {
    const frame = fc.tuple(fc.constantFrom(0, 1, 2, 3), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 12 }), fc.array(fc.nat(40), { maxLength: 200 }), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(([flags, payload]) => encodeFrame(payload, flags)));
        const chunks: Uint8Array[] = [];
        let rest: Uint8Array = bytes;
        for (const cut of cuts) {
          chunks.push(rest.subarray(0, cut));
          rest = rest.subarray(cut);
        }
        const expected = frames.map(([flags, payload]) => [flags, Buffer.from(payload).toString("hex")]);
        expect(decode([...chunks, rest])).toEqual(expected);
      }),
    );
  });

  test("FUZ-01: any bytes in any cut end in frames or a typed error, the same for each cut", () => {
    const outcome = (chunks: Uint8Array[]): string => {
      const decoder = new FrameDecoder({ maxFrameBytes: 64 });
      const frames: string[] = [];
      const error = codeOf(() => {
        for (const chunk of chunks) decoder.push(chunk, (flags, payload) => frames.push(`${flags}:${payload.length}`));
        decoder.finish();
      });
      return `${frames.join()} ${error}`;
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, cut) => {
        expect(outcome([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(outcome([bytes]));
      }),
    );
  });

  test("SEC-20: a length is refused before anything is allocated for it", () => {
    const decoder = new FrameDecoder({ maxFrameBytes: 8 * MiB });
    expect(codeOf(() => decoder.push(hex("00 ffffffff"), () => {}))).toBe("frame_too_large");
    expect(decoder.heldBytes).toBe(0);
  });

  test("SEC-20: an announced length costs nothing until its bytes come", () => {
    const decoder = new FrameDecoder({ maxFrameBytes: 8 * MiB });
    decoder.push(hex("00 00800000"), () => {});
    decoder.push(Buffer.alloc(10), () => {});
    expect(decoder.heldBytes).toBeLessThan(64);
  });

  test("no more is held than twice the frame", () => {
    const frame = encodeFrame(Buffer.alloc(100_001));
    const decoder = new FrameDecoder({ maxFrameBytes: MiB });
    let most = 0;
    let frames = 0;
    for (const byte of frame) {
      decoder.push(Uint8Array.of(byte), () => frames++);
      most = Math.max(most, decoder.heldBytes);
    }
    expect(frames).toBe(1);
    expect(most).toBeLessThanOrEqual(2 * frame.length);
    expect(decoder.heldBytes).toBe(0);
  });

  test.each([0x04, 0x80, 0xff, 0x07])("SEC-20: reserved flag bits are refused: %i", (flags) => {
    const decoder = new FrameDecoder({ maxFrameBytes: 10 });
    expect(codeOf(() => decoder.push(encodeFrame(hex("00"), flags), () => {}))).toBe("frame_flags");
  });

  test("the end frame has its own limit", () => {
    const decoder = new FrameDecoder({ maxFrameBytes: 100, maxEndBytes: 2 });
    decoder.push(encodeFrame(Buffer.alloc(100)), () => {});
    decoder.push(encodeFrame(Buffer.from("{}"), FLAG_END), () => {});
    expect(codeOf(() => decoder.push(encodeFrame(Buffer.alloc(3), FLAG_END), () => {}))).toBe("frame_too_large");
  });

  test.each(["00", "00 000000", "00 00000001", "00 00000002 aa", "00 00000000 00"])(
    "REL-12: a stream that stops in the middle of a frame is truncated: %s",
    (bytes) => {
      expect(codeOf(() => decode([hex(bytes)]))).toBe("stream_truncated");
    },
  );
});
