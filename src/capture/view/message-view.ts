import type { UnknownField } from "@bufbuild/protobuf";
import { type DescMessage, fromBinary, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { AgentClientMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { BidiAppendRequestSchema } from "../../gen/aiserver/v1/bidi_pb.ts";
import { readAppend } from "../../wire/agent/bidi-append.ts";
import { messageKind } from "../../wire/agent/frame-kind.ts";
import { FLAG_END } from "../../wire/connect/envelope.ts";
import { methodAt } from "../call-schema.ts";
import type { CapturedMessage } from "../records.ts";
import { viewBytes } from "./field-view.ts";

/** A message as people and scripts read it. */
export interface MessageView {
  /** Such as `interaction_update.text_delta`. */
  readonly kind: string;
  /** The type in our schema. Undefined: our schema does not have it. */
  readonly type?: string;
  /** With a type the message as JSON, else what can be seen without a schema. */
  readonly value: unknown;
  /** Fields that our schema does not have. */
  readonly unknown?: readonly UnknownFieldView[];
}

interface UnknownFieldView {
  /** The message type that they are in. */
  readonly in: string;
  readonly number: number;
  readonly value: unknown;
}

/** Returns the kind of a message without decoding it. `path` is the one of its call. */
export function kindOf(message: CapturedMessage, path: string): string {
  if (message.flags & FLAG_END) return "end";
  if (message.form === "event") return eventOf(message.bytes)[0] || "event";
  const schema = schemaOf(message, path);
  if (!schema) return message.form;
  const append = schema === BidiAppendRequestSchema ? appendIn(message.bytes) : undefined;
  return append ? messageKind(AgentClientMessageSchema, append.payload) : messageKind(schema, message.bytes);
}

export function viewMessage(message: CapturedMessage, path: string): MessageView {
  const kind = kindOf(message, path);
  const { bytes } = message;
  if (message.form === "event") return { kind, value: parsed(eventOf(bytes)[1]) };
  const schema = message.flags & FLAG_END ? undefined : schemaOf(message, path);
  if (!schema) return { kind, value: plainView(bytes) };
  try {
    return { kind, ...(schema === BidiAppendRequestSchema ? appendView(bytes) : typedView(schema, bytes)) };
  } catch {
    return { kind, value: plainView(bytes) };
  }
}

const schemaOf = ({ direction }: CapturedMessage, path: string): DescMessage | undefined => {
  const method = methodAt(path);
  return direction === "sent" ? method?.input : method?.output;
};

function typedView(schema: DescMessage, bytes: Uint8Array): Omit<MessageView, "kind"> {
  const message = fromBinary(schema, bytes);
  const unknown: UnknownFieldView[] = [];
  collectUnknown(message, unknown);
  return { type: schema.typeName, value: toJson(schema, message) as JsonValue, ...(unknown.length > 0 && { unknown }) };
}

/** Shows the message that an append carries in its place. */
function appendView(bytes: Uint8Array): Omit<MessageView, "kind"> {
  const { requestId, seqno, payload } = readAppend(fromBinary(BidiAppendRequestSchema, bytes));
  const { value, ...inner } = typedView(AgentClientMessageSchema, payload);
  return { ...inner, value: { requestId, appendSeqno: String(seqno), message: value } };
}

function appendIn(bytes: Uint8Array): ReturnType<typeof readAppend> | undefined {
  try {
    return readAppend(fromBinary(BidiAppendRequestSchema, bytes));
  } catch {
    return undefined;
  }
}

function collectUnknown(value: unknown, found: UnknownFieldView[]): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  const { $typeName, $unknown } = value as Partial<Message> & { readonly $unknown?: readonly UnknownField[] };
  for (const { no, data, wireType } of $unknown ?? []) {
    found.push({ in: $typeName ?? "", number: no, value: viewUnknown(data, wireType) });
  }
  for (const [name, member] of Object.entries(value)) if (!name.startsWith("$")) collectUnknown(member, found);
}

/** `data` is the field's value on the wire, with its length if it has one. */
function viewUnknown(data: Uint8Array, wireType: number): unknown {
  const tag = Uint8Array.of(8 | wireType);
  const { fields } = viewBytes(Buffer.concat([tag, data]));
  if (!fields?.[0]) return { hex: Buffer.from(data).toString("hex") };
  const { number: _, ...view } = fields[0];
  return view;
}

function plainView(bytes: Uint8Array): unknown {
  const view = viewBytes(bytes);
  return view.text === undefined ? view : parsed(view.text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

function eventOf(bytes: Uint8Array): readonly [name: string, data: string] {
  try {
    const [name, data] = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return [String(name), String(data)];
  } catch {
    return ["", ""];
  }
}
