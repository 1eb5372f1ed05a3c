/** JSON in a text of a model, as it is written there. */
export interface FoundJson {
  readonly json: string;
  readonly value: unknown;
}

/** The JSON in a text: all of it, or the content of a code fence, or what is between the outermost brackets. */
export const findJson = (text: string): FoundJson | undefined =>
  parseFirst([text, insideFence(text), insideBrackets(text)]);

/** Like {@link findJson}, but not in the middle of a sentence. */
export const findApartJson = (text: string): FoundJson | undefined => parseFirst([text, insideFence(text)]);

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

function insideBrackets(text: string): string {
  const opening = text.search(/[[{]/);
  return opening === -1 ? "" : text.slice(opening, Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1);
}
