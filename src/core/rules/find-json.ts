/** JSON that was found in a text: as it is written, and parsed. */
export interface FoundJson {
  readonly json: string;
  readonly value: unknown;
}

/** Finds JSON in a text: the whole text, the content of a code fence, or what is between the outermost brackets. */
export const findJson = (text: string): FoundJson | undefined =>
  parseFirst([text, insideFence(text), insideBrackets(text)]);

/** Like {@link findJson}, but not in the middle of a sentence: at the end only after a colon or a line break. */
export const findApartJson = (text: string): FoundJson | undefined =>
  parseFirst([text, insideFence(text), afterLeadIn(text)]);

function parseFirst(candidates: readonly string[]): FoundJson | undefined {
  for (const candidate of candidates) {
    const json = candidate.trim();
    if (json === "") continue;
    try {
      return { json, value: JSON.parse(json) };
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

const FENCE = "```";

function insideFence(text: string): string {
  const opening = text.indexOf(FENCE);
  if (opening === -1) return "";
  const lineEnd = text.indexOf("\n", opening);
  return lineEnd === -1 ? "" : text.slice(lineEnd, Math.max(lineEnd, text.lastIndexOf(FENCE)));
}

function afterLeadIn(text: string): string {
  const opening = text.indexOf("{");
  return opening !== -1 && /[:\n]\s{0,15}$/.test(text.slice(Math.max(0, opening - LEAD_IN_CHARS), opening))
    ? text.slice(opening)
    : "";
}

/** How far before the bracket the colon or the line break is looked for. */
const LEAD_IN_CHARS = 16;

function insideBrackets(text: string): string {
  const opening = text.search(/[[{]/);
  return opening === -1 ? "" : text.slice(opening, Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1);
}
