/** A piece of what goes over a connection, as small as it can be lost: a head, a frame, a chunk. */
interface Unit {
  readonly bytes: Buffer;
  /** Whether it carries anything; connections are also talked about. */
  readonly counts: boolean;
  /** Of HTTP/2. */
  readonly stream?: number;
}

/** Cuts one direction of a connection into units; what is incomplete waits. */
export type UnitSplitter = (chunk: Buffer) => Unit[];

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEADER_BYTES = 9;
const ENVELOPE_HEADER_BYTES = 5;
const [DATA, HEADERS] = [0, 1];

/** For either version of HTTP, found out by the first bytes of the client. */
export const splitterFor = (isHttp2: boolean, isClient: boolean): UnitSplitter =>
  isHttp2 ? http2Splitter(isClient) : http1Splitter();

export const isHttp2 = (first: Buffer): boolean => first.toString("latin1", 0, 3) === PREFACE.slice(0, 3);

/** Frames; those with data are cut further, so that each message of the stream is one of its own. */
function http2Splitter(hasPreface: boolean): UnitSplitter {
  const streams = new Map<number, EnvelopeCutter>();
  const parse = (bytes: Buffer, at: number): { readonly end: number; readonly units: Unit[] } | undefined => {
    if (bytes.length < at + FRAME_HEADER_BYTES) return undefined;
    const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
    if (end > bytes.length) return undefined;
    const type = bytes[at + 3] ?? 0;
    const frame = bytes.subarray(at, end);
    const id = frame.readUInt32BE(5);
    if (type !== DATA) return { end, units: [{ bytes: frame, counts: type === HEADERS, stream: id }] };
    const cutter = streams.get(id) ?? new EnvelopeCutter();
    streams.set(id, cutter);
    return { end, units: cutData(frame, cutter).map((unit) => ({ ...unit, stream: id })) };
  };
  let isOpening = hasPreface;
  return gather((bytes, at) => {
    if (!isOpening) return parse(bytes, at);
    if (bytes.length < PREFACE.length) return undefined;
    isOpening = false;
    return { end: PREFACE.length, units: [{ bytes: bytes.subarray(0, PREFACE.length), counts: false }] };
  });
}

function cutData(frame: Buffer, cutter: EnvelopeCutter): Unit[] {
  const payload = frame.subarray(FRAME_HEADER_BYTES);
  const cuts = [...cutter.cut(payload).filter((cut) => cut < payload.length), payload.length];
  let start = 0;
  return cuts.map((end, index) => {
    const header = Buffer.from(frame.subarray(0, FRAME_HEADER_BYTES));
    header.writeUIntBE(end - start, 0, 3);
    // Flags, the end of the stream among them, belong to the last.
    if (index < cuts.length - 1) header[4] = 0;
    const bytes = Buffer.concat([header, payload.subarray(start, end)]);
    start = end;
    return { bytes, counts: true };
  });
}

/** Where the messages of a stream end, whatever the pieces it comes in. */
class EnvelopeCutter {
  #header = Buffer.alloc(0);
  #left = 0;

  cut(payload: Buffer): number[] {
    const cuts: number[] = [];
    let at = 0;
    while (at < payload.length) {
      if (this.#left === 0) {
        const taken = payload.subarray(at, at + ENVELOPE_HEADER_BYTES - this.#header.length);
        this.#header = Buffer.concat([this.#header, taken]);
        at += taken.length;
        if (this.#header.length < ENVELOPE_HEADER_BYTES) break;
        this.#left = this.#header.readUInt32BE(1);
        this.#header = Buffer.alloc(0);
      }
      const taken = Math.min(this.#left, payload.length - at);
      this.#left -= taken;
      at += taken;
      if (this.#left === 0) cuts.push(at);
    }
    return cuts;
  }
}

/** Heads, chunks and bodies. */
function http1Splitter(): UnitSplitter {
  let state: "head" | "chunks" = "head";
  let bodyBytes = 0;
  return gather((bytes, at) => {
    if (bodyBytes > 0) {
      const end = at + bodyBytes;
      if (end > bytes.length) return undefined;
      bodyBytes = 0;
      return one(bytes, at, end);
    }
    if (state === "chunks") {
      const line = bytes.indexOf("\r\n", at);
      if (line === -1) return undefined;
      const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
      const end = line + 2 + size + 2;
      if (end > bytes.length) return undefined;
      if (size === 0) state = "head";
      return one(bytes, at, end);
    }
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end === -1) return undefined;
    const head = bytes.toString("latin1", at, end);
    bodyBytes = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    if (/^transfer-encoding: *chunked/im.test(head)) state = "chunks";
    return one(bytes, at, end + 4);
  });
}

const one = (bytes: Buffer, at: number, end: number) => ({
  end,
  units: [{ bytes: bytes.subarray(at, end), counts: true }],
});

/** Keeps what `parse` cannot take yet. */
function gather(
  parse: (bytes: Buffer, at: number) => { readonly end: number; readonly units: Unit[] } | undefined,
): UnitSplitter {
  let waiting: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = Buffer.concat([waiting, chunk]);
    const units: Unit[] = [];
    let at = 0;
    for (let next = parse(bytes, at); next; next = parse(bytes, at)) {
      units.push(...next.units);
      at = next.end;
      if (at >= bytes.length) break;
    }
    waiting = bytes.subarray(at);
    return units;
  };
}
