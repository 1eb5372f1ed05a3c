import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { passOn } from "../../../../src/drivers/shared/api/pass-on.ts";
import type { HttpHandler, HttpTransport } from "../../../../src/wire/http/http.ts";

const MIB = 1024 * 1024;

/** Passes on an answer of these pieces. Returns its length and whether it has come to its end. */
async function passed(pieces: readonly Buffer[]) {
  const waiting = [...pieces];
  let isAborted = false;
  let isPaused = false;
  const open = (_: unknown, handler: HttpHandler) => {
    const pump = () => {
      while (!isPaused && !isAborted && waiting.length > 0) handler.data(waiting.shift() as Buffer);
      if (!isPaused && !isAborted) handler.end();
    };
    queueMicrotask(() => {
      handler.head({ status: 200, headers: {} });
      pump();
    });
    const resume = () => {
      if (!isPaused) return;
      isPaused = false;
      queueMicrotask(pump);
    };
    const abort = () => {
      isAborted = true;
    };
    const pause = () => {
      isPaused = true;
    };
    return { write: () => true, end: () => {}, pause, resume, abort };
  };
  const transport = { open } as unknown as HttpTransport;
  const endpoint = { transport, origin: "https://api.test", basePath: "", headers: {} };
  const request = { body: {}, hops: [], trace: undefined };
  const { body } = await passOn(endpoint, "/v1/x", request as never, new AbortController().signal);
  let bytes = 0;
  let error: unknown;
  try {
    for await (const chunk of Readable.from(body)) bytes += (chunk as Buffer).length;
  } catch (thrown) {
    error = thrown;
  }
  return { bytes, error, isAborted };
}

describe("an answer that is passed on", () => {
  const piece = Buffer.alloc(8 * MIB);
  const whole = Array<Buffer>(8).fill(piece);

  it.each([
    ["none", [], 0],
    ["one piece", [Buffer.from("abc")], 3],
    ["as many bytes as it may have, in pieces", whole, 64 * MIB],
    ["as many bytes as it may have, at once", [Buffer.alloc(64 * MIB)], 64 * MIB],
  ])("arrives whole: %s", async (_, pieces, bytes) => {
    expect(await passed(pieces)).toMatchObject({ bytes, error: undefined });
  });

  it.each([
    ["in pieces", [...whole, Buffer.alloc(1)]],
    ["at once", [Buffer.alloc(64 * MIB + 1)]],
  ])("breaks off with one byte more: %s", async (_, pieces) => {
    expect(await passed(pieces)).toMatchObject({ error: { code: "answer_too_long" }, isAborted: true });
  });
});
