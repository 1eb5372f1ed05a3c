import { type DescMethod, fromBinary } from "@bufbuild/protobuf";
import { methodAt } from "../capture/call-schema.ts";
import type { MaskedCapture } from "../capture/masked-capture.ts";
import type { CallCut, CallEnd, CallHead, CapturedMessage, CaptureRecord, ResponseInfo } from "../capture/records.ts";
import { describeTail } from "../capture/view/describe-tail.ts";
import { ExcursorError } from "../core/errors.ts";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "../gen/aiserver/v1/bidi_pb.ts";
import { readAppend } from "../wire/agent/bidi-append.ts";
import { FLAG_END } from "../wire/connect/envelope.ts";
import { type Meaning, meaningOf } from "./meaning.ts";

export interface CassetteMessage extends CapturedMessage {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly meaning: Meaning;
  readonly isEnd: boolean;
}

/** A recorded call. A run over HTTP/1.1 is one call here, as over HTTP/2: its uploads are among its messages. */
export interface CassetteCall {
  readonly head: CallHead;
  /** Without the query, and without the `SSE` of a download. */
  readonly path: string;
  readonly method: DescMethod | undefined;
  readonly response: ResponseInfo | undefined;
  /** Of both directions, as they came. */
  readonly messages: readonly CassetteMessage[];
  /** `ok`, `aborted` or a code. Undefined if the capture ends before the call does. */
  readonly outcome: CallEnd["outcome"] | undefined;
  readonly cut: CallCut;
}

/** A capture in a form that can be played. */
export interface Cassette {
  readonly calls: readonly CassetteCall[];
  /** A sentence about a capture that has no proper end. */
  readonly problem: string | undefined;
}

/** A cassette is held in memory. */
const MAX_BYTES = 256 * 1024 * 1024;
const APPEND = "/aiserver.v1.BidiService/BidiAppend";

interface Found {
  readonly head: CallHead;
  readonly at: number;
  endAt?: number;
  response?: ResponseInfo;
  readonly messages: { readonly at: number; readonly message: CapturedMessage }[];
  end?: CallEnd;
}

/** Reads a capture into memory. A capture that was cut is read up to there. */
export async function loadCassette(capture: MaskedCapture): Promise<Cassette> {
  const { file } = capture;
  const found = new Map<number, Found>();
  let bytes = 0;
  await capture.learn();
  const tail = await capture.scan((stored) => {
    bytes += stored.length;
    if (bytes > MAX_BYTES)
      throw new ExcursorError("too-large", `${file} has more than ${MAX_BYTES} bytes, too many for a cassette.`, {
        hint: "Record fewer calls into it.",
      });
    const record = stored.read();
    if (record) addRecord(record, found);
  });
  const calls = readable(file, () => joinUploads(withoutChanged([...found.values()])).map(describe));
  if (calls.length === 0)
    throw new ExcursorError("invalid-request", `${file} holds no call.`, { hint: "Record at least one call into it." });
  return { calls, problem: describeTail(file, tail) };
}

/** A capture may be anybody's. */
function readable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ExcursorError("invalid-request", `${file} holds a message that cannot be read.`, {
      hint: "Record it again.",
      cause,
    });
  }
}

function addRecord(record: CaptureRecord, found: Map<number, Found>): void {
  if (record.type === "call") {
    found.set(record.call, { head: record.head, at: record.at, messages: [] });
    return;
  }
  const call = found.get(record.call);
  if (!call) return;
  if (record.type === "response") call.response = record.head;
  if (record.type === "end") {
    call.end = record.end;
    call.endAt = record.at;
  }
  if (record.type !== "message") return;
  const { direction, form, flags, wasCompressed } = record;
  // The reader reuses its memory.
  const message = { direction, form, flags, wasCompressed, bytes: Buffer.from(record.bytes) };
  call.messages.push({ at: record.at, message });
}

/** Leaves out answers of the backend that the gateway has changed: the client has heard those on its own wire. */
function withoutChanged(found: readonly Found[]): readonly Found[] {
  const heard = found.filter(({ head }) => head.wire === "client" && !isStream(head));
  const isWithin = (call: Found, { at, endAt = Number.POSITIVE_INFINITY }: Found) => call.at >= at && call.at <= endAt;
  return found.filter(
    (call) =>
      call.head.wire === "client" ||
      isStream(call.head) ||
      !heard.some((other) => pathOf(other.head) === pathOf(call.head) && isWithin(call, other)),
  );
}

/** Gives each download over HTTP/1.1 its uploads. */
function joinUploads(found: readonly Found[]): readonly Found[] {
  const downloads = new Map<string, Found>();
  for (const call of found) {
    const [first] = call.messages.filter(({ message }) => message.direction === "sent");
    if (!pathOf(call.head).endsWith("SSE") || !first) continue;
    downloads.set(fromBinary(BidiRequestIdSchema, first.message.bytes).requestId, call);
    call.messages.splice(call.messages.indexOf(first), 1);
  }
  const others = found.filter((call) => {
    if (pathOf(call.head) !== APPEND) return true;
    const sent = call.messages.find(({ message }) => message.direction === "sent");
    if (!sent) return true;
    const { requestId, payload } = readAppend(fromBinary(BidiAppendRequestSchema, sent.message.bytes));
    const download = downloads.get(requestId);
    download?.messages.push({
      at: sent.at,
      message: { direction: "sent", form: "frame", flags: 0, wasCompressed: false, bytes: payload },
    });
    return !download;
  });
  for (const { messages } of downloads.values()) messages.sort((a, b) => a.at - b.at);
  return others;
}

export const isStream = ({ headers }: CallHead): boolean =>
  headers["content-type"]?.startsWith("application/connect+") ?? false;

const pathOf = ({ path }: CallHead): string => path.split("?", 1)[0] ?? path;

function describe({ head, response, messages, end }: Found): CassetteCall {
  const path = pathOf(head).replace(/SSE$/, "");
  const method = methodAt(path);
  return {
    head,
    path,
    method,
    response,
    messages: messages.map(({ at, message }) => {
      const isEnd = (message.flags & FLAG_END) !== 0;
      const schema = message.direction === "sent" ? method?.input : method?.output;
      const isReadable = !isEnd && (message.form === "frame" || isProtobuf(message.direction, head, response));
      return { ...message, at, isEnd, meaning: meaningOf(isReadable ? schema : undefined, message.bytes) };
    }),
    outcome: end?.outcome,
    cut: end?.cut ?? {},
  };
}

function isProtobuf(direction: string, head: CallHead, response: ResponseInfo | undefined): boolean {
  const type = (direction === "sent" ? head : response)?.headers["content-type"];
  return type?.startsWith("application/proto") ?? false;
}
