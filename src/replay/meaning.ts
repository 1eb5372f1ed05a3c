import { type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { messageKind } from "../wire/agent/frame-kind.ts";
import type { IdMap } from "./id-map.ts";

/** What a message says, without the ids, times and numbers that differ from one run to the next. */
export interface Meaning {
  /** Such as `interaction_update.text_delta`. */
  readonly kind: string;
  readonly texts: readonly string[];
}

/** Strings that differ although two clients say the same. */
const IDS = /(?:^|_)(?:ids?|uuids?|seqno|checksum)$/;
/** Fields that describe the client's machine, or refer to blobs. */
const SURROUNDINGS: ReadonlySet<string> = new Set([
  "request_context",
  "request_context_result",
  "conversation_state",
  "conversation_checkpoint_update",
  "kv_client_message",
  "kv_server_message",
]);
export const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;
const MAX_DEPTH = 30;

export function meaningOf(schema: DescMessage | undefined, bytes: Uint8Array): Meaning {
  if (!schema) return { kind: "message", texts: [] };
  const kind = messageKind(schema, bytes);
  const texts: string[] = [];
  try {
    collectTexts(reflect(schema, fromBinary(schema, bytes)), texts, 0);
  } catch {
    return { kind: "unreadable", texts: [] };
  }
  return { kind, texts };
}

export const isSameMeaning = (a: Meaning, b: Meaning): boolean =>
  a.kind === b.kind && a.texts.length === b.texts.length && a.texts.every((text, index) => text === b.texts[index]);

/** Whether a recorded message says the same as a new one, with the ids and paths of now. */
export const isSameMapped = (recorded: Meaning, now: Meaning, ids: IdMap): boolean =>
  isSameMeaning(recorded, now) ||
  (recorded.kind === now.kind &&
    recorded.texts.length === now.texts.length &&
    recorded.texts.every((text, index) => ids.applyText(text) === now.texts[index]));

/** For people: the kind and the beginning of its texts. */
export function showMeaning({ kind, texts }: Meaning): string {
  const text = texts.filter((part) => part !== "").join(" ");
  return text === "" ? kind : `${kind} ${JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)}`;
}

function collectTexts(message: ReflectMessage, texts: string[], depth: number): void {
  if (depth > MAX_DEPTH) return;
  const take = (value: unknown) => {
    if (typeof value === "string") texts.push(value.replace(UUID, "<id>"));
    else if (isMessage(value)) collectTexts(value, texts, depth + 1);
  };
  for (const field of message.sortedFields) {
    if (!message.isSet(field) || IDS.test(field.name) || SURROUNDINGS.has(field.name)) continue;
    const value: unknown = message.get(field);
    if (field.fieldKind === "list") {
      const items = [...(value as Iterable<unknown>)];
      // Lists of names, such as the files that a search found, come in an order of the moment.
      for (const item of field.listKind === "scalar" ? items.toSorted() : items) take(item);
    } else if (field.fieldKind === "map") {
      // Maps have no order on the wire.
      const entries = [...(value as Iterable<[unknown, unknown]>)];
      for (const [key, item] of entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))) {
        take(key);
        take(item);
      }
    } else take(value);
  }
}

const isMessage = (value: unknown): value is ReflectMessage =>
  typeof value === "object" && value !== null && "sortedFields" in value;
