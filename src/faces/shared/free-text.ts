import type { JsonObject } from "../../core/turn.ts";

/**
 * The parsing state of a free-text tool's arguments. They are JSON, `{"input": "…"}`, in chunks that are cut anywhere.
 * The client gets the text between the quotes as it arrives.
 */
export interface FreeText {
  /** `over`: the text has ended, or the JSON has another form and must be read whole. */
  readonly at: "head" | "text" | "over";
  /** Input that cannot be decoded yet: the head, a partial escape, half a surrogate pair. */
  readonly held: string;
}

export const FREE_TEXT: FreeText = { at: "head", held: "" };

const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
const BARE_HEAD = '{"input":"';
const MAX_HEAD_LENGTH = 256;

/** Parses a chunk. Never returns half a surrogate pair, unless the text ends with one. */
export function stepFreeText(
  { at, held }: FreeText,
  json: string,
): { readonly state: FreeText; readonly text: string } {
  if (at === "over") return { state: { at, held }, text: "" };
  const seen = held + json;
  if (at === "text") return readText(seen);
  const head = HEAD.exec(seen)?.[0];
  if (head !== undefined) return readText(seen.slice(head.length));
  const mayBecomeIt = seen.length <= MAX_HEAD_LENGTH && BARE_HEAD.startsWith(seen.replaceAll(/\s/g, ""));
  return { state: mayBecomeIt ? { at: "head", held: seen } : { at: "over", held: "" }, text: "" };
}

function readText(seen: string): ReturnType<typeof stepFreeText> {
  let text = "";
  let from = 0;
  /** The position of the last character if it is a high surrogate. */
  let half: number | undefined;
  const stop = (state: FreeText["at"], end: number) => {
    if (state === "over") return { state: { at: state, held: "" }, text };
    const keeps = half ?? end;
    return { state: { at: state, held: seen.slice(keeps) }, text: half === undefined ? text : text.slice(0, -1) };
  };
  while (from < seen.length) {
    const next = nextSpecial(seen, from);
    text += seen.slice(from, next);
    if (next > from) half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? next - 1 : undefined;
    if (next === seen.length) return stop("text", next);
    if (seen[next] === '"') return stop("over", next);
    const length = seen[next + 1] === "u" ? 6 : 2;
    if (next + length > seen.length) return stop("text", next);
    const character = characterOf(seen.slice(next, next + length));
    if (character === undefined) return stop("over", next);
    text += character;
    half = isHighSurrogate(character.charCodeAt(0)) ? next : undefined;
    from = next + length;
  }
  return stop("text", from);
}

function nextSpecial(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) return at;
  }
  return text.length;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Returns undefined for an invalid escape. */
function characterOf(spelling: string): string | undefined {
  const letter = spelling[1] ?? "";
  if (letter !== "u") return '"\\/'.includes(letter) ? letter : ESCAPES[letter];
  const digits = spelling.slice(2);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : undefined;
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** Returns a schema with the free text as its only argument. Nothing enforces the grammar; the model only reads it. */
export function freeTextSchema(syntax: string, definition: string): JsonObject {
  const grammar = definition === "" ? "" : ` It must match this ${syntax} grammar:\n${definition}`;
  const description = `The whole input of the tool, as free text.${grammar}`;
  return { type: "object", properties: { input: { type: "string", description } }, required: ["input"] };
}
