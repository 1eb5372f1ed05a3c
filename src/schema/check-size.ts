import type { JsonObject, JsonValue } from "../core/turn.ts";
import { SCHEMA_LIMITS } from "./schema-budget.ts";
import { UnusableSchema } from "./unusable-schema.ts";

/**
 * Throws if the JSON text of a schema is too long, annotations included. Sums up the minimal text length of each value
 * and stops at the limit. Listing the keys of one object takes less time than parsing them did.
 */
export function checkSize(schema: JsonObject): void {
  const waiting: JsonValue[] = [schema];
  let chars = 0;
  const add = (count: number) => {
    chars += count;
    if (chars <= SCHEMA_LIMITS.jsonChars) return;
    throw new UnusableSchema("", `its JSON text has more than ${SCHEMA_LIMITS.jsonChars} characters`);
  };
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === "string") add(next.length + 2);
    else if (typeof next !== "object" || next === null) add(1);
    else if (Array.isArray(next)) {
      add(next.length + 1);
      for (const value of next) waiting.push(value);
    } else {
      const names = Object.keys(next);
      // Quotes, colon and comma of each member.
      add(names.length * 4 + 1);
      for (const name of names) {
        add(name.length);
        waiting.push((next as JsonObject)[name] as JsonValue);
      }
    }
  }
}
