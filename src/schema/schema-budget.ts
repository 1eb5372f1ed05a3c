import type { JsonValue } from "../core/turn.ts";
import { UnusableSchema } from "./unusable-schema.ts";

/** Limits of a client's schema. Each is far above what real programs need. */
export const SCHEMA_LIMITS = {
  /** The whole JSON text, with annotations and unused definitions. */
  jsonChars: 512 * 1024,
  /** Schemas in it, inner ones included. */
  schemas: 5000,
  depth: 64,
  /** Names, patterns and values together. */
  chars: 256 * 1024,
  /** Members of all `enum` and `const` values together. */
  values: 20_000,
  patternChars: 1024,
  /** Sum of the squares of the branch counts of `oneOf` and `anyOf`: the compiler nests their branches. */
  branches: 250_000,
  /** Schemas that apply to the same value, with `$ref` followed. */
  inPlace: 5000,
} as const;

/** Counts the parts of a schema. Throws {@link UnusableSchema} when there are too many. */
export class SchemaBudget {
  #schemas = 0;
  #chars = 0;
  #values = 0;
  #branches = 0;

  addSchema(path: string, depth: number): void {
    if (++this.#schemas > SCHEMA_LIMITS.schemas) {
      throw new UnusableSchema("", `it holds more than ${SCHEMA_LIMITS.schemas} schemas`);
    }
    if (depth > SCHEMA_LIMITS.depth) {
      throw new UnusableSchema(path, `it is nested more than ${SCHEMA_LIMITS.depth} schemas deep`);
    }
  }

  addText(text: string): void {
    // Includes quotes and commas.
    this.#chars += text.length + 4;
    if (this.#chars > SCHEMA_LIMITS.chars) {
      throw new UnusableSchema("", `it holds more than ${SCHEMA_LIMITS.chars} characters of names and values`);
    }
  }

  addValue(value: JsonValue): void {
    const waiting: { readonly value: JsonValue; readonly depth: number }[] = [{ value, depth: 0 }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { value: inner, depth } = next;
      if (typeof inner === "string") this.addText(inner);
      if (typeof inner !== "object" || inner === null) continue;
      if (!Array.isArray(inner)) for (const name of Object.keys(inner)) this.addText(name);
      const members = Object.values(inner);
      this.#values += members.length;
      if (this.#values > SCHEMA_LIMITS.values || depth > SCHEMA_LIMITS.depth) {
        throw new UnusableSchema("", "its enum and const values are too many or nested too deep");
      }
      for (const member of members) waiting.push({ value: member, depth: depth + 1 });
    }
  }

  addBranches(count: number): void {
    this.#branches += count * count;
    if (this.#branches > SCHEMA_LIMITS.branches) {
      throw new UnusableSchema("", "it has too many alternatives under oneOf and anyOf");
    }
  }
}
