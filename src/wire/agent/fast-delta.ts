/**
 * The one message that comes a hundred times for every other: a piece of text or of thinking.
 *
 *     AgentServerMessage { 1 interaction_update { 1 text_delta | 4 thinking_delta { 1 text } } }
 *
 * Three nested fields, each of which must fill its parent to the last byte: then a length needs only to be compared
 * with what is left. Whatever has another field, another member or another shape is left to the generated codec,
 * several times slower and always right.
 */
export interface Delta {
  readonly kind: "text" | "thinking";
  /** Invalid UTF-8 is U+FFFD. */
  readonly text: string;
}

/** Field 1, length-delimited: `interaction_update`, `text_delta` and `text` alike. */
const TAG_1 = 0x0a;
const TAG_THINKING_DELTA = 0x22;
const CUT = -1;

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

/** Where the content of a field starts whose length is at `at`, if it ends where the payload does. */
function contentOf(payload: Uint8Array, at: number): number {
  let length = 0;
  // Four bytes of varint count to 256 MiB, which no frame reaches.
  for (let index = 0; index < 4; index++) {
    const byte = payload[at + index];
    if (byte === undefined) return CUT;
    length |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return at + index + 1 + length === payload.length ? at + index + 1 : CUT;
  }
  return CUT;
}

/** What `buffer.toString("utf8")` calls; it takes any Uint8Array, and the types do not know it. */
const { utf8Slice } = Buffer.prototype as unknown as {
  utf8Slice(this: Uint8Array, start: number, end: number): string;
};
