import { Masker } from "../capture/mask/masker.ts";

/** No secret has these. */
const BETWEEN_SECRETS = /[\s"'\\,;<>()]+/;

/** What a field is masked with for its name, which a text alone does not tell. */
const MASK = /^[xyz_-]{16,}$/;

/** Masks keep length and punctuation. */
export const shapeOf = (text: string): string => text.replace(/\w/g, "x");

/**
 * Returns the words that a capture masks in the text of now, such as addresses, each with the recorded word if that may be its
 * mask. Both texts have one character for each byte.
 */
export function maskedWords(recorded: string, now: string): readonly (readonly [recorded: string, now: string])[] {
  const bytes = Buffer.from(now, "latin1");
  new Masker().mask(bytes);
  const masked = bytes.toString("latin1");
  const before = recorded.split(BETWEEN_SECRETS);
  const hidden = masked.split(BETWEEN_SECRETS);
  return now.split(BETWEEN_SECRETS).flatMap((word, index) => {
    const old = before[index] ?? "";
    const isHidden = word !== hidden[index] && shapeOf(word) === shapeOf(old);
    const isMask = word !== old && (isHidden || (MASK.test(old) && word.length === old.length));
    return isMask ? [[old, word] as const] : [];
  });
}

/** Whether a recorded text is the one of now, with what a capture masks in it. */
export function isMaskOf(recorded: string, now: string): boolean {
  const [old, current] = [recorded, now].map((text) => Buffer.from(text).toString("latin1")) as [string, string];
  if (old.length !== current.length) return false;
  return maskedWords(old, current).reduce((text, [from, to]) => text.replace(from, () => to), old) === current;
}
