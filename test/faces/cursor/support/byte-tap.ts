import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** One request and its answer, as the bytes of their bodies on the wire. */
export interface TappedCall {
  readonly version: "h1" | "h2";
  /** `METHOD /path`. Over HTTP/2 it is compressed, and so left out. */
  readonly target: string;
  readonly sent: Buffer;
  readonly received: Buffer;
}

/** Passes TCP connections on and keeps every byte. */
export interface ByteTap {
  readonly url: string;
  /** Calls so far, in the order of their connections and then of their beginning. */
  calls(): TappedCall[];
}

export async function startTap(target: string): Promise<ByteTap> {
  const connections: { readonly up: Buffer[]; readonly down: Buffer[] }[] = [];
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const backend = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    const kept = { up: [] as Buffer[], down: [] as Buffer[] };
    connections.push(kept);
    join(client, backend, kept.up);
    join(backend, client, kept.down);
    for (const socket of [client, backend]) sockets.add(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () =>
      connections.flatMap(({ up, down }) => {
        const [sent, received] = [Buffer.concat(up), Buffer.concat(down)];
        return sent.toString("latin1", 0, 3) === "PRI" ? readHttp2(sent, received) : readHttp1(sent, received);
      }),
  };
}

function join(from: Socket, to: Socket, kept: Buffer[]): void {
  from.on("data", (chunk) => {
    kept.push(chunk);
    if (to.write(chunk)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  from.on("end", () => to.end());
  from.on("error", () => to.resetAndDestroy());
  from.on("close", () => to.destroySoon());
}

const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
const DATA = 0;
const HEADERS = 1;
const PADDED = 0x08;

function readHttp2(sent: Buffer, received: Buffer): TappedCall[] {
  const [up, down] = [dataByStream(sent.subarray(PREFACE_BYTES)), dataByStream(received)];
  return [...up].map(([stream, body]) => {
    const answer = down.get(stream) ?? [];
    return { version: "h2", target: "", sent: Buffer.concat(body), received: Buffer.concat(answer) };
  });
}

/** The DATA of each stream that was opened. */
function dataByStream(bytes: Buffer): Map<number, Buffer[]> {
  const streams = new Map<number, Buffer[]>();
  for (let at = 0; at + FRAME_HEAD_BYTES <= bytes.length; ) {
    const [length, type, flags] = [bytes.readUIntBE(at, 3), bytes[at + 3], bytes[at + 4] ?? 0];
    const stream = bytes.readUInt32BE(at + 5);
    const payload = bytes.subarray(at + FRAME_HEAD_BYTES, at + FRAME_HEAD_BYTES + length);
    if (type === HEADERS && !streams.has(stream)) streams.set(stream, []);
    if (type === DATA) {
      const padding = flags & PADDED ? (payload[0] ?? 0) : undefined;
      streams.get(stream)?.push(padding === undefined ? payload : payload.subarray(1, payload.length - padding));
    }
    at += FRAME_HEAD_BYTES + length;
  }
  return streams;
}

function readHttp1(sent: Buffer, received: Buffer): TappedCall[] {
  const answers = readMessages(received);
  return readMessages(sent).map(({ start, body }, index) => ({
    version: "h1",
    target: start.split(" ").slice(0, 2).join(" "),
    sent: body,
    received: answers[index]?.body ?? Buffer.alloc(0),
  }));
}

/** Reads the messages of one direction. Bodies are as long as their heads say. */
function readMessages(bytes: Buffer): { readonly start: string; readonly body: Buffer }[] {
  const messages: { start: string; body: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf("\r\n\r\n", at);
    if (headEnd === -1) break;
    const head = bytes.toString("latin1", at, headEnd);
    const start = head.slice(0, head.indexOf("\r\n"));
    at = headEnd + 4;
    if (/^HTTP\/1.1 1\d\d /.test(start)) continue;
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    const chunks: Buffer[] = [];
    if (/^transfer-encoding: *chunked/im.test(head)) at = readChunks(bytes, at, chunks);
    else if (length !== undefined) {
      chunks.push(bytes.subarray(at, at + Number(length)));
      at += Number(length);
    }
    messages.push({ start, body: Buffer.concat(chunks) });
  }
  return messages;
}

/** Returns where the message ends. */
function readChunks(bytes: Buffer, start: number, chunks: Buffer[]): number {
  for (let at = start; at < bytes.length; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (size === 0) return bytes.indexOf("\r\n", lineEnd + 2) + 2;
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return bytes.length;
}
