import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { AgentClientMessageSchema, AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { FLAG_END } from "../../wire/connect/envelope.ts";
import type { CapturedMessage } from "../records.ts";

/** A text in a message, or bytes that hold no other message. */
export interface MessageText {
  /** May be changed in place. */
  readonly bytes: Buffer;
  /** Of its field or member. Empty if it has none. */
  readonly name: string;
  /** The message type that the field belongs to. Empty without a schema. */
  readonly owner: string;
  /** Set if the text goes on in another message: the stream that it is a piece of. */
  readonly stream: string | undefined;
}

type Edit = (text: MessageText) => void;

/** No message of the protocol is nested deeper. */
const MAX_DEPTH = 64;
/** Fields with such names carry a piece of a longer text. */
const STREAMED = /delta|stream|partial/;
/** The same of members, in the events of public APIs. */
const STREAMED_MEMBER = /^(?:text|content|thinking|delta|partial_json|arguments|reasoning(?:_content)?)$/;
/** Several texts may be streamed at the same time, each with its number. */
const NUMBERS = /"\w{0,32}index"\s*:\s*\d+/g;
/** Fields that number what is streamed at the same time. */
const ID = /^(?:call_)?id$/;

interface Nested {
  readonly schema: DescMessage;
  readonly isHex: boolean;
}

/** Messages inside fields of bytes or text. */
const NESTED: Readonly<Record<string, Nested>> = {
  "aiserver.v1.BidiAppendRequest.data": { schema: AgentClientMessageSchema, isHex: true },
  "aiserver.v1.BidiAppendRequest.data_binary": { schema: AgentClientMessageSchema, isHex: false },
  "aiserver.v1.BidiPollResponse.data": { schema: AgentServerMessageSchema, isHex: true },
};

interface Place {
  /** The field names on the way to here. */
  readonly path: string;
  /** Numbers of what is streamed here. */
  readonly ids: string;
  readonly depth: number;
}

const TOP: Place = { path: "", ids: "", depth: 0 };

/** Finds the texts of messages. */
export class MessageTexts {
  /** The fields of messages by their numbers: to look one up in a list takes longer than all the rest. */
  readonly #fields = new Map<DescMessage, ReadonlyMap<number, DescField>>();

  /**
   * Calls `edit` with each text of a message, in an order that does not depend on the edits. Returns the message's bytes
   * with what was changed. Texts in protobuf keep their length.
   */
  edit(
    { form, flags, bytes }: Pick<CapturedMessage, "form" | "flags" | "bytes">,
    schema: DescMessage | undefined,
    edit: Edit,
  ): Uint8Array {
    if (form === "event") return editEvent(bytes, edit);
    const edited = Buffer.from(bytes);
    const isProtobuf = (flags & FLAG_END) === 0 && (schema !== undefined || !looksLikeText(bytes));
    if (isProtobuf && this.#visit(edited, schema, edit, TOP)) return edited;
    const text = edited.toString("utf8");
    const isStream = form === "frame" || text.startsWith("[");
    return changed(bytes, text, editJson(text, isStream, edit) ?? editLines(text, edit));
  }

  /** False, and then maybe too few texts, if the bytes are no message. */
  #visit(bytes: Buffer, type: DescMessage | undefined, edit: Edit, place: Place): boolean {
    if (place.depth > MAX_DEPTH) return false;
    const fields = type && this.#fieldsOf(type);
    const reader = new BinaryReader(bytes);
    let { ids } = place;
    try {
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        const field = fields?.get(number);
        const name = field?.name ?? "";
        const isLong = wireType === WireType.LengthDelimited;
        const at = reader.pos;
        const inner = isLong ? innerBytes(bytes, reader) : undefined;
        if (!isLong) reader.skip(wireType, number);
        if (ID.test(name)) ids += ` ${bytes.toString("latin1", at, reader.pos)}`;
        if (!inner || inner.length === 0 || isNumbers(field)) continue;
        const path = `${place.path}.${name || number}`;
        this.#visitField(inner, field, field && type ? type.typeName : "", edit, { path, ids, depth: place.depth + 1 });
      }
      return true;
    } catch {
      return false;
    }
  }

  #visitField(bytes: Buffer, field: DescField | undefined, owner: string, edit: Edit, place: Place): void {
    const message = messageOf(field);
    if (message && this.#visit(bytes, message, edit, place)) return;
    const name = field?.name ?? "";
    const nested = NESTED[`${owner}.${name}`];
    if (nested && this.#visitNested(bytes, nested, edit, place.depth)) return;
    const isText = scalarOf(field) === STRING || looksLikeText(bytes);
    // A dry run first: the texts of something that is no message would be wrong.
    if (!isText && isFields(bytes) && this.#visit(bytes, undefined, edit, place)) return;
    // A field that our schema does not have may be a piece of a text, too.
    const isStream = !field || STREAMED.test(place.path);
    edit({ bytes, name, owner, stream: isStream ? place.path + place.ids : undefined });
  }

  #visitNested(bytes: Buffer, { schema, isHex }: Nested, edit: Edit, depth: number): boolean {
    const inner = isHex ? Buffer.from(bytes.toString("latin1"), "hex") : bytes;
    if (isHex && inner.length * 2 !== bytes.length) return false;
    // With the paths of the message by itself: the next piece of a stream is in another append.
    const isMessage = this.#visit(inner, schema, edit, { ...TOP, depth });
    if (isMessage && isHex) bytes.write(inner.toString("hex"), "latin1");
    return isMessage;
  }

  #fieldsOf(type: DescMessage): ReadonlyMap<number, DescField> {
    const known = this.#fields.get(type);
    if (known) return known;
    const fields = new Map(type.fields.map((field) => [field.number, field]));
    this.#fields.set(type, fields);
    return fields;
  }
}

/** Reads bytes with their length, as a part of the message's own. */
function innerBytes(bytes: Buffer, reader: BinaryReader): Buffer {
  const { length } = reader.bytes();
  return bytes.subarray(reader.pos - length, reader.pos);
}

/** An event is a list of its name and its data. */
function editEvent(bytes: Uint8Array, edit: Edit): Uint8Array {
  const text = Buffer.from(bytes).toString("utf8");
  const after = editStrings(text, (part, name) =>
    name === "1"
      ? (editJson(part, true, edit) ?? editText(part, "", "data", edit))
      : editText(part, "", undefined, edit),
  );
  return changed(bytes, text, after ?? editText(text, "", undefined, edit));
}

/** Each line may be JSON, and a piece of a stream. */
const editLines = (text: string, edit: Edit): string =>
  text.startsWith("{")
    ? text
        .split("\n")
        .map((line) => editJson(line, true, edit) ?? editText(line, "", undefined, edit))
        .join("\n")
    : editText(text, "", undefined, edit);

/** Returns undefined if the text is no JSON. */
function editJson(text: string, isStream: boolean, edit: Edit): string | undefined {
  const numbers = isStream ? (text.match(NUMBERS) ?? []).join() : "";
  const streamOf = (name: string) => (isStream && STREAMED_MEMBER.test(name) ? `${name} ${numbers}` : undefined);
  return editStrings(text, (value, name) => editText(value, name, streamOf(name), edit));
}

/** Edits the strings of JSON that are not empty. Returns undefined if the text is no JSON. */
function editStrings(text: string, editString: (value: string, name: string) => string): string | undefined {
  let isChanged = false;
  const visit = (name: string, value: unknown): unknown => {
    if (typeof value !== "string" || value === "") return value;
    const edited = editString(value, name);
    isChanged ||= edited !== value;
    return edited;
  };
  try {
    const edited: unknown = JSON.parse(text, visit);
    return isChanged ? JSON.stringify(edited) : text;
  } catch {
    return undefined;
  }
}

function editText(text: string, name: string, stream: string | undefined, edit: Edit): string {
  const before = Buffer.from(text);
  const bytes = Buffer.from(before);
  edit({ bytes, name, owner: "", stream });
  return bytes.equals(before) ? text : bytes.toString("utf8");
}

const changed = (bytes: Uint8Array, before: string, after: string): Uint8Array =>
  before === after ? bytes : Buffer.from(after);

/** True if the bytes are fields from beginning to end. */
function isFields(bytes: Uint8Array): boolean {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      reader.skip(wireType, number);
    }
    return reader.pos === reader.len;
  } catch {
    return false;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A message usually has control characters: tags of low fields, and short lengths. */
export function looksLikeText(bytes: Uint8Array): boolean {
  // A tag of field 1, more likely than a text that begins with a line break.
  if (bytes[0] === 0x0a && isFields(bytes)) return false;
  for (const byte of bytes) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function messageOf(field: DescField | undefined): DescMessage | undefined {
  if (field?.fieldKind === "message") return field.message;
  return field?.fieldKind === "list" && field.listKind === "message" ? field.message : undefined;
}

const STRING = 9;
const BYTES = 12;

const scalarOf = (field: DescField | undefined): number | undefined =>
  field?.fieldKind === "scalar" || (field?.fieldKind === "list" && field.listKind === "scalar")
    ? field.scalar
    : undefined;

/** Numbers in one packed field. */
function isNumbers(field: DescField | undefined): boolean {
  const scalar = scalarOf(field);
  if (scalar !== undefined) return scalar !== STRING && scalar !== BYTES;
  return field?.fieldKind === "enum" || (field?.fieldKind === "list" && field.listKind === "enum");
}
