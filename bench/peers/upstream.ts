import { createServer, type Socket } from "node:net";
import { Http2Peer } from "./http2-peer.ts";
import { MessagesPeer } from "./messages-peer.ts";
import { findPlan } from "./plan.ts";

/**
 * A bare backend in a process of its own, so cheap that the gateway dominates. The prompt is its plan (plan.ts). It
 * answers `Run` at once, with one DATA frame per message. HTTP/1.1 requests are either for Anthropic's API
 * (messages-peer.ts), or unary calls that get an empty message.
 */
export interface UpstreamReport {
  /** When each stream was cancelled, reset or cut off, in microseconds of the machine's monotonic clock. */
  readonly resets: Readonly<Record<number, number>>;
  /** How many tokens each open stream has been sent. */
  readonly sent: Readonly<Record<number, number>>;
}

const peers = new Set<Http2Peer>();
const resets: Record<number, number> = {};
const messages = new MessagesPeer();

const server = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => socket.destroy());
  socket.once("data", (first) => {
    if (!first.subarray(0, 3).equals(Buffer.from("PRI"))) {
      answerUnary(socket, first);
      return;
    }
    const peer = new Http2Peer(socket, resets);
    peers.add(peer);
    socket.on("close", () => peers.delete(peer));
    peer.receive(first);
  });
});

/** Answers unary calls with an empty body. */
function answerUnary(socket: Socket, first: Buffer): void {
  let received: Buffer = Buffer.alloc(0);
  const receive = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const head = received.indexOf("\r\n\r\n");
      if (head === -1) return;
      const bodyBytes = Number(/content-length: *(\d+)/i.exec(received.toString("latin1", 0, head))?.[1] ?? 0);
      if (received.length < head + 4 + bodyBytes) return;
      const request = received.subarray(0, head + 4 + bodyBytes);
      received = received.subarray(request.length);
      const plan =
        request.toString("latin1", 0, 5) === "POST " && request.includes("/v1/messages") && findPlan(request);
      if (plan) {
        void messages.answer(socket, plan);
        continue;
      }
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 0\r\n\r\n");
    }
  };
  socket.on("data", receive);
  receive(first);
}

/** Paced streams are checked every millisecond. */
setInterval(() => {
  for (const peer of peers) peer.pump();
}, 1);

process.on("message", () => {
  const report: UpstreamReport = {
    resets,
    sent: Object.assign({}, ...Array.from(peers, (peer) => peer.sent())),
  };
  process.send?.(report);
});
process.on("disconnect", () => process.exit());

server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
