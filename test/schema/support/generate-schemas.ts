import type { JsonObject, JsonValue } from "../../../src/core/turn.ts";

/** A schema with an answer that matches it and one that does not, by construction. */
export interface SoundCase {
  readonly schema: JsonObject;
  readonly good: JsonValue;
  readonly bad: JsonValue;
}

/** A schema that somebody made to do harm, and an answer to check against it. */
export interface HostileCase {
  readonly schema: JsonObject;
  readonly answer: JsonValue;
}

/** Makes schemas by a seed: the same seed, the same schemas. */
export class SchemaGenerator {
  readonly seed: number;
  #state: number;
  #names = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  sound(depth = 3): SoundCase {
    const definitions: Record<string, JsonValue> = {};
    const { schema, good, bad } = this.#soundInner(depth, definitions);
    return { schema: { ...schema, $defs: definitions, ...this.#annotations() }, good, bad };
  }

  hostile(): HostileCase {
    const { schema, answer } = this.#pick(this.#attacks)();
    const wrapped = this.#chance(0.3) ? this.#wrap(schema, answer) : { schema, answer };
    return { schema: { ...wrapped.schema, ...(this.#chance(0.1) && { $async: true }) }, answer: wrapped.answer };
  }

  /** A whole number from 0 up to, but not including, `below`. */
  #below(below: number): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  #chance(probability: number): boolean {
    return this.#below(1000) < probability * 1000;
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }

  #annotations(): JsonObject {
    return this.#pick<JsonObject>([
      {},
      { title: "T" },
      { "x-a": [1] },
      { description: "d", format: "email", default: 1 },
    ]);
  }

  #soundInner(depth: number, definitions: Record<string, JsonValue>): SoundCase {
    const inner = () => this.#soundInner(depth - 1, definitions);
    const leaves = [
      () => ({ schema: { type: "string", pattern: "^a+$" }, good: "aa", bad: "b" }),
      () => ({ schema: { type: "integer", minimum: 2 }, good: 3, bad: 1 }),
      () => ({
        schema: { enum: ["x", null, { y: [1] }] },
        good: this.#pick<JsonValue>(["x", null, { y: [1] }]),
        bad: { y: [2] },
      }),
      () => ({ schema: { const: [1, { a: 2 }] }, good: [1, { a: 2 }], bad: [1, { a: "2" }] }),
      () => ({ schema: { type: ["boolean", "null"] }, good: null, bad: 0 }),
    ];
    const branches = [
      () => {
        const { schema, good, bad } = inner();
        const name = this.#pick(["a", "b c", "toString", "constructor", "$ref", "type"]);
        const object = (value: JsonValue) => Object.fromEntries([[name, value]]);
        const properties = object(schema) as JsonObject;
        return { schema: { type: "object", properties, required: [name] }, good: object(good), bad: object(bad) };
      },
      () => {
        const { schema, good, bad } = inner();
        return { schema: { type: "array", items: schema, minItems: 1 }, good: [good, good], bad: [good, bad] };
      },
      () => {
        const { schema, good, bad } = inner();
        return { schema: { prefixItems: [schema], items: false, minItems: 1 }, good: [good], bad: [bad] };
      },
      () => {
        const { schema, good, bad } = inner();
        const name = `d${this.#names++}`;
        definitions[name] = schema;
        return { schema: { $ref: `#/$defs/${name}` }, good, bad };
      },
      () => {
        const { schema, good, bad } = inner();
        return { schema: { allOf: [schema, {}] }, good, bad };
      },
      () => {
        const { schema, good, bad } = inner();
        return { schema: { anyOf: [false, schema] }, good, bad };
      },
      () => {
        const { schema, good, bad } = inner();
        return { schema: { not: { not: schema } }, good, bad };
      },
    ];
    const made = this.#pick<() => SoundCase>(depth > 0 ? branches : leaves)();
    return { ...made, schema: { ...this.#annotations(), ...made.schema } };
  }

  /** The same attack, inside something harmless. */
  #wrap(schema: JsonObject, answer: JsonValue): HostileCase {
    const { $defs, definitions, ...rest } = schema;
    const kept = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
    return { schema: { type: "object", properties: { a: rest }, ...kept }, answer: { a: answer } };
  }

  readonly #attacks: readonly (() => HostileCase)[] = [
    // Patterns that backtrack.
    () => {
      const pattern = this.#pick([
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "(.*a){25}",
        "^([a-z]+)*\\d$",
        "(a{1,99}){1,99}b",
      ]);
      const text = `${"a".repeat(20 + this.#below(30))}!`;
      return this.#chance(0.5)
        ? { schema: { patternProperties: { [pattern]: true }, additionalProperties: false }, answer: { [text]: 1 } }
        : { schema: { items: { pattern } }, answer: Array.from({ length: 1 + this.#below(50) }, () => text) };
    },
    // Definitions that refer to each other, any number of times.
    () => {
      const count = 2 + this.#below(60);
      const ref = () => ({ $ref: `#/$defs/d${this.#below(count)}` });
      const body = (): JsonObject => {
        const applicator = this.#pick(["allOf", "anyOf", "oneOf"]);
        const width = 1 + this.#below(4);
        if (this.#chance(0.5)) return { [applicator]: Array.from({ length: width }, ref) };
        if (this.#chance(0.5)) return { allOf: Array.from({ length: width }, () => ({ properties: { x: ref() } })) };
        return { not: ref(), if: ref(), properties: { x: ref() }, additionalProperties: ref() };
      };
      const $defs = Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n}`, body()]));
      let answer: JsonValue = 1;
      for (let level = this.#below(40); level > 0; level--) answer = { x: answer };
      return { schema: { ...ref(), $defs }, answer };
    },
    // Too much of something.
    () => {
      const count = 10 ** (1 + this.#below(4)) + this.#below(50);
      const many = Array.from({ length: count }, (_, n) => n);
      const named = Object.fromEntries(many.map((n) => [`p${n}`, { type: "string", minLength: n % 7 }]));
      return this.#pick<() => HostileCase>([
        () => ({ schema: { oneOf: many.map((n) => ({ const: n })) }, answer: 1 }),
        () => ({ schema: { anyOf: many.map((n) => ({ properties: { t: { const: n } } })) }, answer: {} }),
        () => ({ schema: { properties: named, required: Object.keys(named) }, answer: {} }),
        () => ({ schema: { enum: many, uniqueItems: true }, answer: -1 }),
        () => ({ schema: { uniqueItems: true }, answer: many.map((n) => ({ n })) }),
        () => ({
          schema: { dependentRequired: Object.fromEntries(many.map((n) => [`p${n}`, [`p${n + 1}`]])) },
          answer: {},
        }),
        () => ({
          schema: { patternProperties: Object.fromEntries(many.map((n) => [`^p${n}`, true])) },
          answer: { p: 1 },
        }),
        () => ({
          schema: { prefixItems: many.map(() => ({ type: "string" })), unevaluatedItems: false },
          answer: many,
        }),
      ])();
    },
    // Too deep.
    () => {
      const keyword = this.#pick(["not", "items", "if", "propertyNames", "contains", "additionalProperties"]);
      let [schema, value]: [JsonObject, JsonValue] = [{ type: "null" }, null];
      for (let level = 1 + this.#below(100); level > 0; level--) {
        schema = { [keyword]: schema };
        if (keyword === "items" || keyword === "contains") value = [value];
      }
      return { schema, answer: value };
    },
    // Values where others belong, and keywords of every kind.
    () => {
      const junk = this.#pick<JsonValue>([null, [], {}, "x", -1, 1e308, { toString: 1 }, [[[[]]]], { $ref: "#" }]);
      const keyword = this.#pick(KEYWORDS);
      return { schema: { [keyword]: junk }, answer: {} };
    },
    // References to all sorts of places.
    () => {
      const $ref = this.#pick([
        "#",
        "#/",
        "#/$defs/a",
        "#/$ref",
        "#/enum/0",
        "#a",
        "x",
        "http://127.0.0.1:1/x",
        "#/%",
        "#/__proto__",
        "#/$defs/__proto__",
      ]);
      return {
        schema: { $ref, $id: "x", enum: [{ $ref: "#/enum/0" }], $defs: { a: { $ref: "#/enum/0", $anchor: "a" } } },
        answer: 1,
      };
    },
    // Lists inside lists inside an enum that a reference leads to.
    () => {
      let value: JsonValue = { enum: [] };
      for (let level = 10 + this.#below(70); level > 0; level--) value = [value];
      return { schema: { items: { $ref: "#/definitions/a" }, definitions: { a: { enum: [value] } } }, answer: [value] };
    },
  ];
}

const KEYWORDS = [
  ...[
    "type",
    "enum",
    "const",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "items",
    "prefixItems",
  ],
  ...[
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "dependencies",
    "dependentSchemas",
  ],
  ...[
    "dependentRequired",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
  ],
  ...[
    "$defs",
    "definitions",
    "$id",
    "$schema",
    "$anchor",
    "$async",
    "$data",
    "nullable",
    "format",
    "multipleOf",
    "pattern",
  ],
  ...["maxLength", "uniqueItems", "discriminator", "__proto__", "toString"],
];
