import { InteractionUpdateSchema, TextDeltaUpdateSchema } from "../../gen/agent/v1/interaction_pb.ts";
import { AgentServerMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { encodeFields, messageField, textField } from "./encode-fields.ts";

/**
 * A piece of text or thinking: by far the most frequent message of a run.
 *
 *     AgentServerMessage { 1 interaction_update { 1 text_delta | 4 thinking_delta { 1 text } } }
 *
 * Each of the three nested fields must end exactly where its parent ends. Any other shape is left to the generated
 * codec, which is several times slower.
 */
export interface Delta {
  readonly kind: "text" | "thinking";
  /** Invalid UTF-8 becomes U+FFFD. */
  readonly text: string;
}

/** Field 1, length-delimited: `interaction_update`, `text_delta` and `text` alike. */
const TAG_1 = 0x0a;
const TAG_THINKING_DELTA = 0x22;
const CUT = -1;

/** Decodes a delta. Returns undefined for any other message. */
export function decodeDelta(payload: Uint8Array): Delta | undefined {
  if (payload[0] !== TAG_1) return undefined;
  const update = contentOf(payload, 1);
  if (update === CUT) return undefined;
  const member = payload[update];
  if (member !== TAG_1 && member !== TAG_THINKING_DELTA) return undefined;
  const delta = contentOf(payload, update + 1);
  if (delta === CUT || payload[delta] !== TAG_1) return undefined;
  const text = contentOf(payload, delta + 1);
  if (text === CUT) return undefined;
  return {
    kind: member === TAG_1 ? "text" : "thinking",
    text: utf8Slice.call(payload, text, payload.length),
  };
}

const { interactionUpdate } = AgentServerMessageSchema.field;
const { textDelta, thinkingDelta } = InteractionUpdateSchema.field;

/** Encodes a delta as an `AgentServerMessage`, without the generated codec. */
export function encodeDelta({ kind, text }: Delta): Uint8Array {
  const said = textField(TextDeltaUpdateSchema.field.text, text);
  return encodeFields(messageField(interactionUpdate, messageField(kind === "text" ? textDelta : thinkingDelta, said)));
}

/** Returns where the content of a field starts, if it ends where the payload ends. `at` is the offset of its length. */
function contentOf(payload: Uint8Array, at: number): number {
  let length = 0;
  // Four bytes of varint reach 256 MiB, more than any frame.
  for (let index = 0; index < 4; index++) {
    const byte = payload[at + index];
    if (byte === undefined) return CUT;
    length |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return at + index + 1 + length === payload.length ? at + index + 1 : CUT;
  }
  return CUT;
}

/** The function behind `buffer.toString("utf8")`. It takes any Uint8Array, but is missing in the types. */
const { utf8Slice } = Buffer.prototype as unknown as {
  utf8Slice(this: Uint8Array, start: number, end: number): string;
};
