import type { JsonObject, JsonValue } from "../core/turn.ts";

/** Of the JSON text of a schema, with annotations and unused definitions. */
const MAX_CHARS = 512 * 1024;

/**
 * Returns what is wrong if the JSON text of a schema is too long. Sums up the minimal text length of each value and stops
 * at the limit. Listing the keys of one object takes less time than parsing them did.
 */
export function sizeProblem(schema: JsonObject): string | undefined {
  const waiting: JsonValue[] = [schema];
  let chars = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === "string") chars += next.length + 2;
    else if (typeof next !== "object" || next === null) chars++;
    else if (Array.isArray(next)) {
      chars += next.length + 1;
      if (chars <= MAX_CHARS) for (const value of next) waiting.push(value);
    } else {
      const names = Object.keys(next);
      // Quotes, colon and comma of each member.
      chars += names.length * 4 + 1;
      for (const name of names) {
        chars += name.length;
        waiting.push((next as JsonObject)[name] as JsonValue);
      }
    }
    if (chars > MAX_CHARS) return `its JSON text has more than ${MAX_CHARS} characters`;
  }
  return undefined;
}
