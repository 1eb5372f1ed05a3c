import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";

/** HTTP/2 frame types. */
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const CONTINUATION = 9;

const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PREFACE_BYTES = 24;
const MAX_FRAME_BYTES = 16_384;

/**
 * An HTTP/2 peer made by hand, since Node's server is too polite for what a client must survive: it says exactly
 * what it is told to. Plain text, by prior knowledge.
 */
export class RawH2Server {
  readonly connections: RawH2Connection[] = [];
  readonly #server: Server;
  onConnection: (connection: RawH2Connection) => void = (connection) => connection.settings();
  onRequest: (stream: RawH2Stream) => void = () => {};

  constructor() {
    this.#server = createServer((socket) => {
      const connection = new RawH2Connection(socket, (stream) => this.onRequest(stream));
      this.connections.push(connection);
      this.onConnection(connection);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const { socket } of this.connections) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export class RawH2Connection {
  readonly socket: Socket;
  readonly resets: Array<readonly [stream: number, code: number]> = [];
  /** When each came, by the monotonic clock. */
  readonly pings: number[] = [];
  answersPings = true;
  /** Ids of the streams that were opened, in order. */
  readonly streams: number[] = [];
  readonly #onRequest: (stream: RawH2Stream) => void;
  readonly #awaitingPong: Array<() => void> = [];
  #received = Buffer.alloc(0);
  #hasPreface = false;

  constructor(socket: Socket, onRequest: (stream: RawH2Stream) => void) {
    this.socket = socket;
    this.#onRequest = onRequest;
    socket.setNoDelay();
    socket.on("error", () => {});
    socket.on("data", (chunk) => this.#read(chunk));
  }

  settings(values: Readonly<Record<number, number>> = {}): void {
    const payload = Object.entries(values).map(([id, value]) => {
      const entry = Buffer.alloc(6);
      entry.writeUInt16BE(Number(id), 0);
      entry.writeUInt32BE(value, 2);
      return entry;
    });
    this.frame(SETTINGS, 0, 0, Buffer.concat(payload));
  }

  /** Resolves when the client has read everything sent to it so far, and answered. */
  roundTrip(): Promise<void> {
    this.frame(PING, 0, 0, Buffer.alloc(8));
    return new Promise((resolve) => this.#awaitingPong.push(resolve));
  }

  goaway(lastStreamId: number, code: number): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStreamId, 0);
    payload.writeUInt32BE(code, 4);
    this.frame(GOAWAY, 0, 0, payload);
  }

  frame(type: number, flags: number, stream: number, payload: Uint8Array): void {
    const header = Buffer.alloc(9);
    header.writeUIntBE(payload.length, 0, 3);
    header[3] = type;
    header[4] = flags;
    header.writeUInt32BE(stream, 5);
    if (!this.socket.destroyed) this.socket.write(Buffer.concat([header, payload]));
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (!this.#hasPreface) {
      if (this.#received.length < PREFACE_BYTES) return;
      this.#received = this.#received.subarray(PREFACE_BYTES);
      this.#hasPreface = true;
    }
    while (this.#received.length >= 9) {
      const length = this.#received.readUIntBE(0, 3);
      if (this.#received.length < 9 + length) return;
      const type = this.#received[3];
      const flags = this.#received[4] ?? 0;
      const stream = this.#received.readUInt32BE(5);
      const payload = this.#received.subarray(9, 9 + length);
      this.#received = this.#received.subarray(9 + length);
      if (type === SETTINGS && !(flags & ACK)) this.frame(SETTINGS, ACK, 0, Buffer.alloc(0));
      if (type === PING && !(flags & ACK)) {
        this.pings.push(performance.now());
        if (this.answersPings) this.frame(PING, ACK, 0, payload);
      }
      if (type === PING && flags & ACK) this.#awaitingPong.shift()?.();
      if (type === RST_STREAM) this.resets.push([stream, payload.readUInt32BE(0)]);
      if (type === HEADERS) {
        this.streams.push(stream);
        this.#onRequest(new RawH2Stream(this, stream));
      }
    }
  }
}

export class RawH2Stream {
  readonly connection: RawH2Connection;
  readonly id: number;

  constructor(connection: RawH2Connection, id: number) {
    this.connection = connection;
    this.id = id;
  }

  /** `:status: 200` and `content-type`, without Huffman or tables. */
  head(contentType = "application/connect+proto"): void {
    this.headers({ "content-type": contentType });
  }

  headers(headers: Readonly<Record<string, string>>): void {
    const fields = Object.entries(headers).map(([name, value]) =>
      Buffer.concat([Buffer.from([0x00]), hpackString(name), hpackString(value)]),
    );
    let rest = Buffer.concat([Buffer.from([0x88]), ...fields]);
    for (let type = HEADERS; rest.length > 0 || type === HEADERS; type = CONTINUATION) {
      const block = rest.subarray(0, MAX_FRAME_BYTES);
      rest = rest.subarray(MAX_FRAME_BYTES);
      this.connection.frame(type, rest.length === 0 ? END_HEADERS : 0, this.id, block);
    }
  }

  data(payload: Uint8Array, isLast = false): void {
    this.connection.frame(DATA, isLast ? END_STREAM : 0, this.id, payload);
  }

  reset(code: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    this.connection.frame(RST_STREAM, 0, this.id, payload);
  }
}

function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
