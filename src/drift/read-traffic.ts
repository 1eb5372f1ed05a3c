import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { methodAt } from "../capture/call-schema.ts";
import type { StoredRecord } from "../capture/capture-reader.ts";
import type { MaskedCapture } from "../capture/masked-capture.ts";
import type { CallHead } from "../capture/records.ts";
import { describeTail } from "../capture/view/describe-tail.ts";
import { AgentClientMessageSchema } from "../gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema } from "../gen/aiserver/v1/bidi_pb.ts";
import { readAppend } from "../wire/agent/bidi-append.ts";
import { FLAG_END } from "../wire/connect/envelope.ts";
import type { Difference } from "./compare-schemas.ts";

/** Something in the traffic that our schema does not know, or that contradicts it. */
interface TrafficDifference extends Difference {
  readonly count: number;
  /** The first one: the beginning of its bytes in hex, a number, or a value. */
  readonly example: string;
}

interface Traffic {
  readonly differences: readonly TrafficDifference[];
  /** Calls of Cursor's protocol, and their messages. */
  readonly read: { readonly calls: number; readonly messages: number };
  /** True if the capture goes on after what was read. */
  readonly isCut: boolean;
  /** A sentence about a capture that has no proper end. */
  readonly problem: string | undefined;
}

/** Headers of clients and servers that say nothing about Cursor's protocol, or that we know. */
const KNOWN_HEADERS =
  /^(?:accept.*|age|alt-svc|authorization|cache-control|cf-.*|connect-.*|connection|content-.*|cookie|date|etag|expires|grpc-.*|host|keep-alive|nel|origin|pragma|proxy-.*|referer|report-to|sec-.*|server|set-cookie|strict-transport-security|te|(?:backend-)?traceparent|tracestate|trailer|transfer-encoding|upgrade|user-agent|vary|via|x-amz.*|x-cursor-(?:checksum|client-type|client-version|server-region|streaming|timezone)|x-ghost-mode|x-client-key|x-blob-encryption-key|x-session-id|x-request-id|x-original-request-id|x-forwarded-.*)$/;
const RPC = /^\/([\w.]+\.v\d+\.\w+)\/(\w+)$/;
const MAX_DIFFERENCES = 10_000;
const MAX_DEPTH = 50;
const EXAMPLE_BYTES = 24;

/**
 * Lists what a capture holds beyond our schema, in its first `maxBytes`. A message that the schema cannot read is a conflict.
 * Calls of other APIs are left out.
 */
export async function readTraffic(capture: MaskedCapture, maxBytes = Number.POSITIVE_INFINITY): Promise<Traffic> {
  await capture.learn(undefined, { end: maxBytes });
  const tally = new Tally();
  const calls = new Map<number, { readonly head: CallHead; type: string | undefined }>();
  let messages = 0;
  let callCount = 0;
  let isCut = false;
  const take = (stored: StoredRecord) => {
    isCut ||= stored.offset >= maxBytes;
    const record = isCut ? undefined : stored.read();
    if (record?.type === "call" && RPC.test(pathOf(record.head))) {
      callCount++;
      calls.set(record.call, { head: record.head, type: undefined });
      addHeaders(record.head.headers, "request", tally);
      addMethod(record.head, tally);
    }
    const call = record && calls.get(record.call);
    if (!record || !call) return;
    if (record.type === "response") {
      call.type = record.head.headers["content-type"];
      addHeaders(record.head.headers, "response", tally);
    }
    if (record.type === "end") calls.delete(record.call);
    if (record.type !== "message" || (record.flags & FLAG_END) !== 0) return;
    messages++;
    const type = record.direction === "sent" ? call.head.headers["content-type"] : call.type;
    const method = methodAt(call.head.path);
    const schema = record.direction === "sent" ? method?.input : method?.output;
    if (!schema || !/^application\/(?:connect\+)?proto\b/.test(type ?? "")) return;
    addMessage(schema, record.bytes, tally);
  };
  const tail = await capture.scan(take, { wantsMessage: () => !isCut });
  const problem = describeTail(capture.file, tail);
  return { differences: tally.differences(), read: { calls: callCount, messages }, isCut, problem };
}

const pathOf = ({ path }: CallHead): string => path.split("?", 1)[0] ?? path;

class Tally {
  readonly #found = new Map<string, TrafficDifference>();

  add(difference: Difference, example: string): void {
    const { type, what, owner, number, name } = difference;
    const key = [type, what, owner, number, name].join(" ");
    const known = this.#found.get(key);
    if (!known && this.#found.size >= MAX_DIFFERENCES) return;
    this.#found.set(key, { ...difference, count: (known?.count ?? 0) + 1, example: known?.example ?? example });
  }

  differences(): readonly TrafficDifference[] {
    return [...this.#found.values()];
  }
}

function addHeaders(headers: CallHead["headers"], owner: string, tally: Tally): void {
  for (const [name, value] of Object.entries(headers))
    if (!KNOWN_HEADERS.test(name)) tally.add({ type: "missing", what: "header", owner, name }, value.slice(0, 60));
}

function addMethod(head: CallHead, tally: Tally): void {
  const path = pathOf(head);
  const [, owner, name] = RPC.exec(path) ?? [];
  if (owner === undefined || name === undefined || methodAt(path)) return;
  tally.add({ type: "missing", what: "rpc", owner, name }, head.headers["content-type"] ?? "");
}

function addMessage(schema: DescMessage, bytes: Uint8Array, tally: Tally): void {
  try {
    const message = fromBinary(schema, bytes);
    addUnknown(reflect(schema, message), tally, 0);
    if (schema.typeName !== BidiAppendRequestSchema.typeName) return;
    const { payload } = readAppend(fromBinary(BidiAppendRequestSchema, bytes));
    addMessage(AgentClientMessageSchema, payload, tally);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    tally.add(
      { type: "retyped", what: "message", owner: schema.typeName, name: schema.name, theirs: reason },
      hex(bytes),
    );
  }
}

function addUnknown(message: ReflectMessage, tally: Tally, depth: number): void {
  const { typeName: owner } = message.desc;
  for (const { no, wireType, data } of message.message.$unknown ?? [])
    addUnknownField(message.desc, no, wireType, data, owner, tally);
  if (depth > MAX_DEPTH) return;
  for (const field of message.sortedFields) {
    if (!message.isSet(field)) continue;
    for (const value of valuesOf(field, message.get(field))) {
      if (isMessage(value)) addUnknown(value, tally, depth + 1);
      else if (field.enum && typeof value === "number" && !field.enum.value[value])
        tally.add(
          { type: "missing", what: "enum value", owner: field.enum.typeName, number: value, name: `#${value}` },
          `${owner}.${field.name}`,
        );
    }
  }
}

/** A known number of another wire type is a conflict: the same bytes mean something else. */
function addUnknownField(
  schema: DescMessage,
  number: number,
  wireType: number,
  data: Uint8Array,
  owner: string,
  tally: Tally,
): void {
  const known = schema.fields.find((field) => field.number === number);
  const theirs = WIRE_TYPES[wireType] ?? `wire type ${wireType}`;
  tally.add(
    {
      type: known ? "retyped" : "missing",
      what: "field",
      owner,
      number,
      name: known?.name ?? `#${number}`,
      theirs,
      ...(known && { ours: known.name }),
    },
    hex(data),
  );
}

const WIRE_TYPES = ["varint", "64 bits", "length-delimited", "group", "group end", "32 bits"];

function valuesOf(field: DescField, value: unknown): readonly unknown[] {
  if (field.fieldKind === "list") return [...(value as Iterable<unknown>)];
  if (field.fieldKind === "map") return [...(value as Iterable<[unknown, unknown]>)].map(([, item]) => item);
  return [value];
}

const isMessage = (value: unknown): value is ReflectMessage =>
  typeof value === "object" && value !== null && "sortedFields" in value;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, EXAMPLE_BYTES)).toString("hex");
