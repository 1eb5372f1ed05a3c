import { expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { encodeFrame } from "../../../src/wire/connect/envelope.ts";
import type { HttpHandler } from "../../../src/wire/http/http.ts";
import { type ObservedCall, type ObservedFrame, observeTransport } from "../../../src/wire/http/observed-transport.ts";
import { madeUpTransport } from "../support/made-up-transport.ts";

const QUIET: HttpHandler = { head() {}, data() {}, end() {}, fail() {} };
const RUN = {
  origin: "https://api.example",
  path: "/agent.v1.AgentService/Run?secret=1",
  headers: { "content-type": "application/connect+proto" },
};

/** An exchange with its observer, and the peer's side of it. */
function setUp(request: Parameters<ReturnType<typeof madeUpTransport>["open"]>[0], withFrames = true) {
  let peer: HttpHandler = QUIET;
  const calls: ObservedCall[] = [];
  const frames: ObservedFrame[] = [];
  const transport = observeTransport(
    madeUpTransport((_, handler) => {
      peer = handler;
      return undefined;
    }),
    "h2",
    { call: (call) => calls.push(call), frame: withFrames ? (frame) => frames.push(frame) : undefined },
  );
  const received: number[] = [];
  const exchange = transport.open(request, { ...QUIET, data: (chunk) => received.push(chunk.length) });
  return { exchange, peer, calls, frames, received };
}

it("tells of an exchange once, with its sizes, and without the query of its path", () => {
  const { exchange, peer, calls, frames, received } = setUp(RUN);
  exchange.write(encodeFrame(Uint8Array.of(0x3a, 0)));
  peer.head({ status: 200, headers: { "content-type": "application/connect+proto" } });
  const delta = encodeFrame(Buffer.from("0a060a040a026869", "hex"));
  const end = encodeFrame(Buffer.from("{}"), 2);
  peer.data(delta.subarray(0, 3));
  peer.data(Buffer.concat([delta.subarray(3), end]));
  peer.end();
  exchange.abort();
  expect(calls).toEqual([
    {
      id: "h2-1",
      method: "POST",
      host: "api.example",
      path: "/agent.v1.AgentService/Run",
      transport: "h2",
      status: 200,
      ms: expect.any(Number),
      sentBytes: 7,
      receivedBytes: delta.length + end.length,
      end: "ok",
    },
  ]);
  expect(frames).toEqual([
    { id: "h2-1", dir: "out", kind: "client_heartbeat", bytes: 2 },
    { id: "h2-1", dir: "in", kind: "interaction_update.text_delta", bytes: 8 },
    { id: "h2-1", dir: "in", kind: "end", bytes: 2 },
  ]);
  expect(received).toEqual([3, delta.length - 3 + end.length]);
});

it.each([
  ["aborted", (_peer: HttpHandler, abort: () => void) => abort()],
  ["dns_failure", (peer: HttpHandler) => peer.fail(new ExcursorError("dns_failure", ""), false)],
])("tells how an exchange ended that has no answer: %s", (end, act) => {
  const { exchange, peer, calls } = setUp(RUN);
  act(peer, () => exchange.abort());
  expect(calls).toMatchObject([{ end }]);
  expect(calls[0]).not.toHaveProperty("status");
});

it("frames that cannot be read are passed on all the same", () => {
  const { peer, frames, received } = setUp(RUN);
  peer.head({ status: 200, headers: { "content-type": "application/connect+proto" } });
  for (const bytes of ["ff00000001", "00"]) peer.data(Buffer.from(bytes, "hex"));
  expect(received).toEqual([5, 1]);
  expect(frames).toEqual([]);
});

it("names unknown and broken messages without their content", () => {
  const { peer, frames } = setUp(RUN);
  peer.head({ status: 200, headers: { "content-type": "application/connect+proto" } });
  for (const hex of ["fa3e00", "0a05", ""]) peer.data(encodeFrame(Buffer.from(hex, "hex")));
  peer.data(encodeFrame(Buffer.from("zipped"), 1));
  expect(frames.map(({ kind }) => kind)).toEqual(["#1007", "unreadable", "AgentServerMessage", "compressed"]);
});

it("events of other upstreams are told by their names, unless these could be anything", () => {
  const { peer, frames } = setUp({ ...RUN, path: "/v1/messages", headers: { "content-type": "application/json" } });
  peer.head({ status: 200, headers: { "content-type": "text/event-stream; charset=utf-8" } });
  peer.data(Buffer.from("event: content_block_delta\ndata: {}\n\nevent: my secret\ndata: abc\n\ndata: [DONE]\n\n"));
  expect(frames.map(({ kind, bytes }) => [kind, bytes])).toEqual([
    ["content_block_delta", 2],
    ["event", 3],
    ["event", 6],
  ]);
});
