import type { JsonObject, JsonValue } from "../core/turn.ts";
import { SCHEMA_LIMITS } from "./schema-budget.ts";
import { UnusableSchema } from "./unusable-schema.ts";

/**
 * Refuses schemas whose JSON text is too long, annotations included. It adds up the least that each value takes as text
 * and stops at the limit. The keys of one object are listed at once, which takes less time than to parse them.
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
