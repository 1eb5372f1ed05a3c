import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { encodeFrame, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { RunReader } from "../../../src/wire/connect/run-reader.ts";
import type { HttpHandler } from "../../../src/wire/http/http.ts";
import { wireLimits } from "../../../src/wire/limits.ts";
import { Recorder } from "../support/listener.ts";
import { madeUpTransport } from "../support/made-up-transport.ts";

const text = (said: string) => encodeFrame(Buffer.from(said));
const END = encodeFrame(Buffer.from("{}"), FLAG_END);
const OK = { status: 200, headers: { "content-type": "application/connect+proto" } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  // What is over leaves no timer behind.
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const endOfTurn = () => vi.advanceTimersByTime(0);

/** A reader on a transport that is the test itself. */
function setUp() {
  const exchange = { write: vi.fn(), end: vi.fn(), pause: vi.fn(), resume: vi.fn(), abort: vi.fn() };
  let peer: HttpHandler | undefined;
  const transport = madeUpTransport((_, handler) => {
    peer = handler;
    return exchange;
  });
  const listener = new Recorder();
  const request = { origin: "http://x", path: "/", headers: {} };
  const reader = new RunReader({ transport, request, listener, limits: wireLimits() });
  if (!peer) throw new Error("not opened");
  const outcome = () => listener.outcomes.map(({ error }) => error?.code ?? "ok");
  return { reader, peer, exchange, listener, outcome };
}

describe("REL-15: time", () => {
  test("30 s for the headers", () => {
    const { exchange, outcome } = setUp();
    vi.advanceTimersByTime(29_999);
    expect(outcome()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(outcome()).toEqual(["headers_timeout"]);
    expect(exchange.abort).toHaveBeenCalledOnce();
  });

  test("120 s between messages; bytes that make no message are silence", () => {
    const { peer, outcome } = setUp();
    vi.advanceTimersByTime(29_999);
    peer.head(OK);
    for (let n = 0; n < 5; n++) {
      vi.advanceTimersByTime(119_999);
      peer.data(text("beat"));
    }
    for (let n = 0; n < 4; n++) {
      vi.advanceTimersByTime(29_999);
      peer.data(Buffer.from([0]));
    }
    expect(outcome()).toEqual([]);
    vi.advanceTimersByTime(5);
    expect(outcome()).toEqual(["idle_timeout"]);
  });

  test("a paused stream cannot be idle, a resumed one has its full time", () => {
    const { reader, peer, outcome } = setUp();
    peer.head(OK);
    vi.advanceTimersByTime(100_000);
    reader.pause();
    vi.advanceTimersByTime(3_600_000);
    reader.resume();
    vi.advanceTimersByTime(119_999);
    expect(outcome()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(outcome()).toEqual(["idle_timeout"]);
  });

  test.each([
    ["in the same turn", () => {}, 0],
    ["a second later", () => vi.advanceTimersByTime(1000), 0],
    ["not in time", () => vi.advanceTimersByTime(2000), 1],
  ])("2 s for the peer to close after its end frame: %s", (_, wait, aborts) => {
    const { peer, exchange, outcome } = setUp();
    peer.head(OK);
    peer.data(END);
    wait();
    peer.end();
    vi.advanceTimersByTime(10_000);
    expect(exchange.abort).toHaveBeenCalledTimes(aborts);
    expect(outcome()).toEqual(["ok"]);
  });

  test("paused before the headers: these still have to come in time", () => {
    const { reader, outcome } = setUp();
    reader.pause();
    vi.advanceTimersByTime(30_000);
    expect(outcome()).toEqual(["headers_timeout"]);
  });

  test("an error page that stops half way is judged by its status", () => {
    const { peer, outcome, exchange } = setUp();
    peer.head({ status: 503, headers: {} });
    peer.data(Buffer.from("<ht"));
    vi.advanceTimersByTime(30_000);
    expect(outcome()).toEqual(["upstream_unavailable"]);
    expect(exchange.abort).toHaveBeenCalledOnce();
  });

  test("a stream that is not closed after its end is cut", () => {
    const { peer, outcome, exchange } = setUp();
    peer.head(OK);
    peer.data(END);
    expect(outcome()).toEqual(["ok"]);
    expect(exchange.end).toHaveBeenCalledOnce();
    expect(exchange.abort).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2_000);
    expect(exchange.abort).toHaveBeenCalledOnce();
  });

  test("a stream that is closed after its end is left alone", () => {
    const { peer, exchange } = setUp();
    peer.head(OK);
    peer.data(END);
    peer.end();
    vi.advanceTimersByTime(10_000);
    expect(exchange.abort).not.toHaveBeenCalled();
  });
});

describe("order", () => {
  test("paused, neither messages nor a failure come; resumed, both, in order", () => {
    const { reader, peer, listener, outcome } = setUp();
    peer.head(OK);
    reader.pause();
    peer.data(text("a"));
    peer.data(text("b"));
    peer.fail(new ExcursorError("connection_reset", "It broke."), true);
    expect([listener.messages, outcome()]).toEqual([[], []]);
    reader.resume();
    expect([listener.messages, outcome()]).toEqual([["a", "b"], ["connection_reset"]]);
  });

  test("done is told once, whatever happens afterwards", () => {
    const { reader, peer, outcome } = setUp();
    peer.head(OK);
    peer.data(END);
    peer.data(text("late"));
    reader.cancel();
    peer.end();
    peer.fail(new Error("late") as never, true);
    reader.pause();
    reader.resume();
    expect(outcome()).toEqual(["ok"]);
    endOfTurn();
  });

  test("a listener that throws fails its run with what it threw", () => {
    const { peer, listener, outcome, exchange } = setUp();
    listener.onMessage = () => {
      throw new TypeError("bug");
    };
    peer.head(OK);
    peer.data(Buffer.concat([text("a"), text("b")]));
    expect(outcome()).toEqual(["internal"]);
    expect(exchange.abort).toHaveBeenCalledOnce();
  });
});
