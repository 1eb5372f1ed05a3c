import { type ClientHttp2Stream, connect, constants, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

/**
 * The floor of the Cursor face: the smallest program that passes HTTP/2 streams on. It looks at no byte of them, and has no
 * gate and no errors. It has flow control, and cancels what has no reader.
 */
const [upstream = ""] = process.argv.slice(2);
const WINDOW_BYTES = { stream: 32 * 1024, session: 8 * 1024 * 1024 };

const session = connect(upstream, { settings: { enablePush: false, initialWindowSize: WINDOW_BYTES.stream } });
session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES.session));

const server = createServer().on("stream", (stream, { ":authority": _, ":scheme": __, ...headers }) => {
  const passed = session.request(headers, { endStream: false });
  passed.on("response", (answer) => stream.respond(answer));
  join(stream, passed);
});

function join(stream: ServerHttp2Stream, passed: ClientHttp2Stream): void {
  for (const [one, other] of [
    [stream, passed],
    [passed, stream],
  ] as const) {
    one.pipe(other);
    one.on("error", () => {});
    one.on("close", () => {
      if (!other.writableFinished) other.close(constants.NGHTTP2_CANCEL);
    });
  }
}

server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
