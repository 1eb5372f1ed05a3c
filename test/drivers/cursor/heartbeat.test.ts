import { afterEach, expect, it, vi } from "vitest";
import { EndingStreams } from "../../../src/drivers/cursor/run/ending-streams.ts";
import { AgentStream } from "../../../src/drivers/cursor/run/stream.ts";
import type { HttpHandler } from "../../../src/wire/http/http.ts";
import { madeUpTransport } from "../../wire/support/made-up-transport.ts";

afterEach(() => vi.useRealTimers());

/** `AgentClientMessage { client_heartbeat {} }` in its envelope. */
const BEAT = "00000000023a00";
/** `AgentClientMessage { conversation_action { cancel_action {} } }` in its envelope. */
const CANCEL = "000000000422021a00";

const HEAD = { status: 200, headers: { "content-type": "application/connect+proto" } };

function openStream(endingStreams = new EndingStreams(), principalId = "owner") {
  vi.useFakeTimers();
  const written: string[] = [];
  let peer: HttpHandler | undefined;
  let aborts = 0;
  const transport = madeUpTransport((_request, handler) => {
    peer = handler;
    return {
      write: (chunk) => written.push(Buffer.from(chunk).toString("hex")) > 0,
      abort: () => aborts++,
    };
  });
  const endpoint = { origin: "http://x", transport: "h2", ghostMode: true } as const;
  const caller = { token: "t", requestId: "00000000-0000-4000-8000-000000000000" };
  const listener = { message() {}, done() {} };
  const transports = { h2: transport, h1: transport };
  const stream = new AgentStream(
    transports,
    endpoint,
    caller,
    listener,
    async () => undefined,
    () => endingStreams.take(principalId),
  );
  if (!peer) throw new Error("not opened");
  return { stream, peer, written, aborts: () => aborts };
}

it.each<[how: string, stop: (stream: AgentStream, peer: HttpHandler) => void]>([
  ["it is cancelled", (stream) => stream.cancel()],
  ["the backend ends it", (_, peer) => peer.fail(new Error("gone") as never, true)],
])("a run beats every 5 s until %s", (_, stop) => {
  const { stream, peer, written } = openStream();
  vi.advanceTimersByTime(14_999);
  expect(written).toEqual([BEAT, BEAT]);
  vi.advanceTimersByTime(1);
  expect(written).toHaveLength(3);
  stop(stream, peer);
  vi.advanceTimersByTime(60_000);
  expect(written).toHaveLength(3);
});

it("an accepted run is cancelled by a message, and reset if that has no effect", () => {
  const endingStreams = new EndingStreams();
  const { stream, peer, written, aborts } = openStream(endingStreams);
  peer.head(HEAD);
  stream.cancel();
  expect([written, endingStreams.size, aborts()]).toEqual([[CANCEL], 1, 0]);
  vi.advanceTimersByTime(1999);
  expect(aborts()).toBe(0);
  vi.advanceTimersByTime(1);
  expect([aborts(), endingStreams.size]).toEqual([1, 0]);
});

function openAndCancel(endingStreams: EndingStreams, principalId: string) {
  const { stream, peer, aborts } = openStream(endingStreams, principalId);
  peer.head(HEAD);
  stream.cancel();
  return { peer, aborts };
}

it("what waits for its end is bounded: more is reset at once", () => {
  const endingStreams = new EndingStreams();
  for (let n = 0; n < 256; n++) openAndCancel(endingStreams, `key_${n % 8}`);
  expect(endingStreams.size).toBe(256);
  expect(openAndCancel(endingStreams, "owner").aborts()).toBe(1);
  expect(endingStreams.size).toBe(256);
});

it("one principal's cancels do not make resets of another's (SEC-36)", () => {
  const endingStreams = new EndingStreams();
  const greedy = Array.from({ length: 300 }, () => openAndCancel(endingStreams, "key_greedy"));
  expect(greedy.filter(({ aborts }) => aborts() === 0)).toHaveLength(32);
  expect(openAndCancel(endingStreams, "owner").aborts()).toBe(0);
  // Room again, once the backend has ended one.
  greedy[0]?.peer.fail(new Error("gone") as never, true);
  expect(openAndCancel(endingStreams, "key_greedy").aborts()).toBe(0);
  expect(openAndCancel(endingStreams, "key_greedy").aborts()).toBe(1);
});
