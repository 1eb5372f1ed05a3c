import { afterEach, expect, it, vi } from "vitest";
import { AgentStream } from "../../../src/drivers/cursor/stream.ts";
import type { HttpHandler } from "../../../src/wire/http.ts";
import { madeUpTransport } from "../../wire/support/made-up-transport.ts";

afterEach(() => vi.useRealTimers());

/** `AgentClientMessage { client_heartbeat {} }` in its envelope. */
const BEAT = "00000000023a00";

it.each<[how: string, stop: (stream: AgentStream, peer: HttpHandler) => void]>([
  ["it is cancelled", (stream) => stream.cancel()],
  ["the backend ends it", (_, peer) => peer.fail(new Error("gone") as never, true)],
])("a run beats every 5 s until %s", (_, stop) => {
  vi.useFakeTimers();
  const written: string[] = [];
  let peer: HttpHandler | undefined;
  const transport = madeUpTransport((_request, handler) => {
    peer = handler;
    return { write: (chunk) => written.push(Buffer.from(chunk).toString("hex")) > 0 };
  });
  const endpoint = { origin: "http://x", transport: "h2", ghostMode: true } as const;
  const caller = { token: "t", requestId: "00000000-0000-4000-8000-000000000000" };
  const listener = { message() {}, done() {} };
  const stream = new AgentStream({ h2: transport, h1: transport }, endpoint, caller, listener, async () => undefined);
  if (!peer) throw new Error("not opened");
  vi.advanceTimersByTime(14_999);
  expect(written).toEqual([BEAT, BEAT]);
  vi.advanceTimersByTime(1);
  expect(written).toHaveLength(3);
  stop(stream, peer);
  vi.advanceTimersByTime(60_000);
  expect(written).toHaveLength(3);
});
