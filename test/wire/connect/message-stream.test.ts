import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { MessageStream } from "../../../src/wire/connect/message-stream.ts";
import { type WireLimits, wireLimits } from "../../../src/wire/limits.ts";

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
const packed = (payload: Uint8Array | string, flags = 0) => encodeFrame(gzipSync(payload), flags | FLAG_COMPRESSED);
/** Bytes that gzip cannot shorten. */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = length;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

interface Setup {
  readonly limits?: Partial<WireLimits>;
  readonly encoding?: string;
  readonly onMessage?: (text: string) => void;
}

function setUp({ limits, encoding, onMessage }: Setup = {}) {
  const events: string[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const source = { pause: vi.fn(), resume: vi.fn() };
  const stream = new MessageStream(wireLimits(limits), encoding, source, {
    message(payload) {
      const text = payload.length > 64 ? `${payload.length} bytes` : Buffer.from(payload).toString();
      events.push(text);
      onMessage?.(text);
    },
    ended({ error }) {
      events.push(`end ${error?.code ?? "ok"}`);
      resolve();
    },
    broken({ code }) {
      events.push(`fail ${code}`);
      resolve();
    },
  });
  return { stream, events, source, ended };
}

describe("MessageStream", () => {
  test("messages, then the end; what follows is dropped", () => {
    const { stream, events } = setUp();
    stream.push(
      Buffer.concat([encodeFrame(Buffer.from("a")), encodeFrame(Buffer.from("")), END, encodeFrame(Buffer.from("b"))]),
    );
    stream.push(Buffer.from("junk"));
    stream.finish();
    expect(events).toEqual(["a", "", "end ok"]);
  });

  test("REL-16: cut at every byte, three frames end in an error and never in success", () => {
    const bytes = Buffer.concat([encodeFrame(Buffer.from("one")), packed("two"), END]);
    for (let cut = 0; cut < bytes.length; cut++) {
      const { stream, events } = setUp();
      stream.push(bytes.subarray(0, cut));
      stream.finish();
      expect(events.at(-1)).toBe("fail stream_truncated");
    }
  });

  test("small messages are inflated at once, the end as well", () => {
    const { stream, events } = setUp({ encoding: "gzip" });
    stream.push(Buffer.concat([packed("a"), encodeFrame(Buffer.from("b")), packed("{}", FLAG_END)]));
    expect(events).toEqual(["a", "b", "end ok"]);
  });

  test("an empty message may claim to be compressed", () => {
    const { stream, events } = setUp();
    stream.push(Buffer.concat([encodeFrame(Buffer.alloc(0), FLAG_COMPRESSED), END]));
    expect(events).toEqual(["", "end ok"]);
  });

  test("a large message is inflated elsewhere, in order, with the source stopped", async () => {
    const { stream, events, source, ended } = setUp();
    stream.push(
      Buffer.concat([encodeFrame(Buffer.from("a")), packed(noise(20_000)), packed("b"), packed(noise(30_000)), END]),
    );
    expect(events).toEqual(["a"]);
    expect(source.pause).toHaveBeenCalled();
    stream.finish();
    await ended;
    expect(events).toEqual(["a", "20000 bytes", "b", "30000 bytes", "end ok"]);
  });

  test("an error waits for the messages before it", async () => {
    const { stream, events, ended } = setUp();
    stream.push(Buffer.concat([packed(noise(20_000)), encodeFrame(Buffer.from("a")), Buffer.from([0xff, 0, 0, 0, 0])]));
    await ended;
    expect(events).toEqual(["20000 bytes", "a", "fail frame_flags"]);
  });

  test.each<[name: string, bytes: Buffer, setup: Setup, code: string]>([
    ["bad gzip", encodeFrame(Buffer.from("nonsense"), FLAG_COMPRESSED), {}, "gzip_invalid"],
    ["bad CRC", corrupt(packed("hello hello")), {}, "gzip_invalid"],
    ["cut gzip", encodeFrame(gzipSync("hello").subarray(0, 12), FLAG_COMPRESSED), {}, "gzip_invalid"],
    ["bad gzip, large", encodeFrame(noise(9000), FLAG_COMPRESSED), {}, "gzip_invalid"],
    ["a bomb", packed(Buffer.alloc(64 * 1024 * 1024)), {}, "inflate_too_large"],
    ["a small bomb", packed(Buffer.alloc(1_000_000)), { limits: { maxInflatedBytes: 999_999 } }, "inflate_too_large"],
    ["a bomb in the end", packed(Buffer.alloc(1_000_000), FLAG_END), {}, "inflate_too_large"],
    [
      "members that add up",
      encodeFrame(Buffer.concat([gzipSync(noise(600)), gzipSync(noise(600))]), FLAG_COMPRESSED),
      { limits: { maxInflatedBytes: 1000 } },
      "inflate_too_large",
    ],
    ["another encoding", packed("a"), { encoding: "br" }, "unknown_encoding"],
    ["compressed in spite of identity", packed("a"), { encoding: "identity" }, "unknown_encoding"],
    ["an oversized frame", encodeFrame(Buffer.alloc(11)), { limits: { maxFrameBytes: 10 } }, "frame_too_large"],
    ["an oversized end", encodeFrame(Buffer.alloc(11), FLAG_END), { limits: { maxEndBytes: 10 } }, "frame_too_large"],
    ["4 GiB announced", Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), {}, "frame_too_large"],
    ["reserved flags", Buffer.from([4, 0, 0, 0, 0]), {}, "frame_flags"],
  ])("REL-18, SEC-20, SEC-22: %s", async (_, bytes, setup, code) => {
    const { stream, events, ended } = setUp(setup);
    stream.push(bytes);
    await ended;
    expect(events).toEqual([`fail ${code}`]);
  });

  test("one layer only: gzip in gzip is a message of gzip", () => {
    const { stream, events } = setUp();
    const inner = gzipSync("x");
    stream.push(packed(inner));
    expect(events).toEqual([inner.toString()]);
  });

  test("nothing comes between pause and resume, and nothing is lost", () => {
    const { stream, events, source } = setUp({ onMessage: (text) => text === "a" && stream.pause() });
    stream.push(Buffer.concat([encodeFrame(Buffer.from("a")), encodeFrame(Buffer.from("b")), END]));
    expect(events).toEqual(["a"]);
    stream.push(Buffer.alloc(0));
    stream.finish();
    expect(events).toEqual(["a"]);
    expect(source.resume).not.toHaveBeenCalled();
    stream.resume();
    expect(events).toEqual(["a", "b", "end ok"]);
  });

  test("pausing during an inflate holds its result back too", async () => {
    const { stream, events, ended } = setUp({ onMessage: () => stream.pause() });
    stream.push(Buffer.concat([packed(noise(20_000)), encodeFrame(Buffer.from("b")), END]));
    await vi.waitFor(() => expect(events).toEqual(["20000 bytes"]));
    stream.resume();
    expect(events).toEqual(["20000 bytes", "b"]);
    stream.resume();
    await ended;
  });

  test("a reader that throws fails its stream", () => {
    const { stream, events } = setUp({
      onMessage: () => {
        throw new Error("mine");
      },
    });
    stream.push(Buffer.concat([encodeFrame(Buffer.from("a")), encodeFrame(Buffer.from("b"))]));
    expect(events).toEqual(["a", "fail internal"]);
  });

  test("stopped, it is silent", async () => {
    const { stream, events } = setUp();
    stream.push(packed(noise(20_000)));
    stream.stop();
    stream.push(END);
    stream.finish();
    await new Promise(setImmediate);
    expect(events).toEqual([]);
  });

  test("FUZ-01: any cut of the bytes gives the same events, whatever is compressed or paused", async () => {
    const message = fc.tuple(
      fc.constantFrom("plain", "packed"),
      fc.oneof(fc.nat(50), fc.integer({ min: 9000, max: 20_000 })),
    );
    const tail = fc.constantFrom(END, Buffer.alloc(0), Buffer.from([9, 0, 0, 0, 0]), packed("{}", FLAG_END));
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 6 }),
        tail,
        fc.array(fc.nat(9000), { maxLength: 12 }),
        fc.nat(4),
        async (messages, last, cuts, pauseAt) => {
          const bytes = Buffer.concat([
            ...messages.map(([kind, length]) =>
              kind === "plain" ? encodeFrame(noise(length)) : packed(noise(length)),
            ),
            last,
          ]);
          const run = async (parts: readonly number[], pauseEvery: number): Promise<string[]> => {
            let seen = 0;
            const { stream, events, ended } = setUp({
              onMessage: () => {
                if (pauseEvery === 0 || ++seen % pauseEvery !== 0) return;
                stream.pause();
                setImmediate(() => stream.resume());
              },
            });
            let rest: Uint8Array = bytes;
            for (const part of parts) {
              stream.push(rest.subarray(0, part));
              rest = rest.subarray(part);
            }
            stream.push(rest);
            stream.finish();
            await ended;
            return events;
          };
          expect(await run(cuts, pauseAt)).toEqual(await run([], 0));
        },
      ),
      { numRuns: 60 },
    );
  });
});

function corrupt(frame: Buffer): Buffer {
  const copy = Buffer.from(frame);
  copy[copy.length - 8] = (copy.at(-8) ?? 0) ^ 0xff;
  return copy;
}
