import { expect, it } from "vitest";
import type { JsonObject } from "../../src/core/turn.ts";
import { sizeProblem } from "../../src/schema/check-size.ts";

const MAX_CHARS = 512 * 1024;

/** Makes the JSON text of a schema exactly so long, by a longer description. */
function filled(schema: JsonObject, chars: number): JsonObject {
  const rest = chars - JSON.stringify({ ...schema, description: "" }).length;
  return { ...schema, description: "x".repeat(rest) };
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => n % 10);

it.each<[string, JsonObject]>([
  ["one long text", {}],
  ["many short members", { properties: Object.fromEntries(numbered(40_000).map((digit, n) => [`p${n}`, digit])) }],
  ["many short values", { enum: numbered(200_000) }],
  ["many short texts", { enum: numbered(100_000).map(String) }],
])("the JSON text of a schema may have half a million characters, and not one more: %s", (_, schema) => {
  const exact = filled(schema, MAX_CHARS);
  expect(JSON.stringify(exact)).toHaveLength(MAX_CHARS);
  expect(sizeProblem(exact)).toBeUndefined();
  expect(sizeProblem(filled(schema, MAX_CHARS + 1))).toContain(`more than ${MAX_CHARS} characters`);
});
