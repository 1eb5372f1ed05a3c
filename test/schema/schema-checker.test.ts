import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { Secret } from "../../src/core/secret.ts";
import type { JsonObject, JsonValue, Principal } from "../../src/core/turn.ts";
import { createSchemaChecker } from "../../src/schema/schema-checker.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../../src/schema/worker-queue.ts";
import {
  DOUBLING,
  DOUBLING_ANSWER,
  ENDLESS_ENUMS,
  LADDER,
  nested,
  SLOW_ANSWER,
  SLOW_PATTERN,
} from "./support/hostile-schemas.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const never = new AbortController().signal;

function setUp(limits: Partial<WorkerLimits> = {}) {
  const checker = createSchemaChecker({ ...WORKER_LIMITS, ...limits });
  cleanups.push(() => checker.close());
  const openFor = (principal: Principal, schema: object, signal = never) =>
    checker.open(schema as JsonObject, { principal, field: "the.field", signal });
  const open = (schema: object, id = "p", signal = never) => openFor({ id, token: undefined }, schema, signal);
  return { checker, open, openFor };
}

const refused = (why: RegExp) => ({
  kind: "invalid-request",
  code: "invalid_json_schema",
  field: "the.field",
  message: expect.stringMatching(new RegExp(`^the\\.field: this JSON schema cannot be used: .*${why.source}`)),
});

const tree = z.object({
  get children() {
    return z.array(tree);
  },
});
const person = z.object({
  name: z.string().min(1).max(50).describe("The name"),
  mail: z.email(),
  age: z.int().min(0).optional(),
  tags: z.array(z.enum(["a", "b"])).max(3),
  home: z
    .union([z.object({ kind: z.literal("flat"), floor: z.number() }), z.object({ kind: z.literal("house") })])
    .nullable(),
  point: z.tuple([z.number(), z.number()]),
  notes: z.record(z.string(), z.string()),
  tree,
});
const someone = {
  name: "Ada",
  mail: "ada@example.com",
  tags: ["a"],
  home: { kind: "flat", floor: 2 },
  point: [1, 2],
  notes: { x: "y" },
  tree: { children: [{ children: [] }] },
};

describe("schemas as programs make them", () => {
  it.each<[string, object, JsonValue, JsonValue]>([
    ["zod, draft 2020-12", z.toJSONSchema(person), someone, { ...someone, point: [1, "2"] }],
    ["zod, draft 7", z.toJSONSchema(person, { target: "draft-7" }), someone, { ...someone, point: ["1", 2] }],
    ["zod, nested", z.toJSONSchema(person), someone, { ...someone, tree: { children: [{ children: [1] }] } }],
    [
      "zod-to-json-schema, with a name",
      {
        $ref: "#/definitions/Answer",
        definitions: {
          Answer: {
            type: "object",
            properties: {
              a: { type: "array", items: { type: "string" } },
              b: { $ref: "#/definitions/Answer/properties/a" },
            },
            required: ["a"],
            additionalProperties: false,
          },
        },
        $schema: "http://json-schema.org/draft-07/schema#",
      },
      { a: ["x"], b: [] },
      { a: ["x"], b: [1] },
    ],
    [
      "OpenAI, strict",
      {
        type: "object",
        properties: {
          steps: {
            type: "array",
            items: {
              type: "object",
              properties: { explanation: { type: "string" }, output: { type: ["string", "null"] } },
              required: ["explanation", "output"],
              additionalProperties: false,
            },
          },
          final_answer: { type: "string" },
        },
        required: ["steps", "final_answer"],
        additionalProperties: false,
      },
      { steps: [{ explanation: "e", output: null }], final_answer: "f" },
      { steps: [{ explanation: "e" }], final_answer: "f" },
    ],
    [
      "OpenAI, a linked list",
      {
        type: "object",
        properties: { linked_list: { $ref: "#/$defs/linked_list_node" } },
        $defs: {
          linked_list_node: {
            type: "object",
            properties: {
              value: { type: "number" },
              next: { anyOf: [{ $ref: "#/$defs/linked_list_node" }, { type: "null" }] },
            },
            additionalProperties: false,
            required: ["next", "value"],
          },
        },
        additionalProperties: false,
        required: ["linked_list"],
      },
      { linked_list: { value: 1, next: { value: 2, next: null } } },
      { linked_list: { value: 1, next: { value: 2 } } },
    ],
    [
      "pydantic",
      {
        $defs: {
          Cat: {
            properties: { kind: { const: "cat", title: "Kind", type: "string" } },
            required: ["kind"],
            title: "Cat",
            type: "object",
          },
          Dog: {
            properties: { kind: { const: "dog", title: "Kind", type: "string" } },
            required: ["kind"],
            title: "Dog",
            type: "object",
          },
          Color: { enum: ["red", "green"], title: "Color", type: "string" },
        },
        properties: {
          pet: {
            discriminator: { mapping: { cat: "#/$defs/Cat", dog: "#/$defs/Dog" }, propertyName: "kind" },
            oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
            title: "Pet",
          },
          color: { anyOf: [{ $ref: "#/$defs/Color" }, { type: "null" }], default: null },
          code: { pattern: "^[\\w-\\.]+$", title: "Code", type: "string" },
        },
        required: ["pet"],
        title: "Answer",
        type: "object",
      },
      { pet: { kind: "dog" }, color: "red", code: "a-b.c" },
      { pet: { kind: "fish" } },
    ],
    ["OpenAPI", { type: "object", properties: { a: { type: "string", nullable: true } } }, { a: null }, { a: 1 }],
    [
      "lists of the older drafts, without $schema",
      { items: [{ type: "number" }], additionalItems: false },
      [1],
      [1, 2],
    ],
    [
      "dependencies",
      { dependencies: { a: ["b"], c: { properties: { c: { type: "number" } } } } },
      { a: 1, b: 2, c: 3 },
      { c: "3" },
    ],
    [
      "unevaluatedProperties",
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1 },
      { b: 1 },
    ],
    // biome-ignore lint/suspicious/noThenProperty: the keyword's name.
    ["if, then, else", { if: { type: "string" }, then: { minLength: 2 }, else: { minimum: 2 } }, "ab", 1],
    [
      "references of OpenAPI, back to the whole",
      { $ref: "#/components/schemas/A", components: { schemas: { A: { type: "array", items: { $ref: "#" } } } } },
      [[[]]],
      [[1]],
    ],
    [
      "references by an $id, as TypeBox makes them",
      { properties: { tree: { $id: "Node", type: "object", properties: { next: { $ref: "Node" } } } } },
      { tree: { next: {} } },
      { tree: { next: 1 } },
    ],
    [
      "references by an $anchor, and by the whole address",
      {
        $id: "https://x/y",
        items: { $ref: "#a" },
        contains: { $ref: "https://x/y#/$defs/a" },
        $defs: { a: { $anchor: "a", type: "number" } },
      },
      [1],
      ["1"],
    ],
    ["draft 4, with an id", { $schema: "http://json-schema.org/draft-04/schema#", id: "x", type: "number" }, 1, "1"],
    [
      "annotations of any form",
      { title: 5, examples: "x", properties: { title: { type: "string" } } },
      {},
      { title: 1 },
    ],
    ["nullable without a type", { anyOf: [{ type: "string" }], nullable: true }, "a", 1],
    ["true and false", { properties: { a: true, b: false } }, { a: 1 }, { b: 1 }],
    [
      "names of JavaScript's",
      JSON.parse('{"required":["__proto__","constructor"]}'),
      JSON.parse('{"__proto__":1,"constructor":1}'),
      {},
    ],
  ])("%s", async (_, schema, good, bad) => {
    const { open } = setUp();
    const check = await open(schema);
    expect(await check(JSON.stringify(good))).toBeUndefined();
    expect(await check(JSON.stringify(bad))).toMatch(/^it/);
  });

  it("may be large", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [`p${n}`, { type: "object", properties: { v: { type: "string" } } }]),
    );
    const { open } = setUp();
    const check = await open({ type: "object", properties, required: Object.keys(properties) });
    const answer = Object.fromEntries(Object.keys(properties).map((name) => [name, { v: "x" }]));
    expect(await check(JSON.stringify(answer))).toBeUndefined();
    expect(await check(JSON.stringify({ ...answer, p7: { v: 1 } }))).toBe("it/p7/v must be string");
  });
});

describe("hostile schemas (SEC-26)", () => {
  it("what is cheap for us is checked like any other", async () => {
    const { open } = setUp();
    const check = await open(ENDLESS_ENUMS);
    expect(await check("{}")).toBeUndefined();
    expect(await check('{"a": 1}')).toMatch(/must be equal to one of/);
  });

  it.each([
    ["$async", { $async: true }, /\$async is not supported/],
    ["$async inside", { properties: { a: { $async: true } } }, /\$async is not supported/],
    ["a reference elsewhere", { $ref: "https://example.com/x" }, /can't resolve reference/],
    ["a reference to nothing", { $ref: "#/$defs/a" }, /can't resolve reference/],
    ["a reference to itself", { $ref: "#" }, /leads back to itself/],
    [
      "itself in the end",
      { anyOf: [{ not: { $ref: "#/$defs/a" } }], $defs: { a: { allOf: [{ $ref: "#" }] } } },
      /itself/,
    ],
    ["an unknown type", { type: ["string", "strin"] }, /\/type/],
    ["a deep list of names", { required: [nested(100, [])] }, /\/required\/0 must be string/],
    ["something else for a schema", { properties: { a: null } }, /\/properties\/a must be object,boolean/],
    ["something else for a number", { maxLength: { toString: 1 } }, /\/maxLength must be integer/],
    ["too many alternatives", { oneOf: Array.from({ length: 501 }, () => ({})) }, /oneOf has more than 500/],
    ["too long a description", { description: "x".repeat(600_000) }, /more than 524288 characters/],
    ["too much in a definition that is not used", { $defs: { a: { b: Array(300_000).fill(1) } } }, /524288/],
    ["a schema that is nested too deep", nested(50_000, {}, "not") as JsonObject, /nested too deeply/],
    ["a broken pattern", { pattern: "(" }, /Invalid regular expression/],
    ["a broken pattern for names", { patternProperties: { "[": true } }, /Invalid regular expression/],
  ])("%s is refused, once and again", async (_, schema, why) => {
    const { open } = setUp();
    await expect(open(schema)).rejects.toMatchObject(refused(why));
    await expect(open(schema)).rejects.toMatchObject(refused(why));
  });

  it.each([
    ["a pattern", SLOW_PATTERN, SLOW_ANSWER],
    ["references that double with each level of the answer", DOUBLING, DOUBLING_ANSWER],
    ["many patterns, each of them quick enough", ...manyPatterns()],
  ])("a check that never ends is ended: %s", async (_, schema, answer) => {
    const { open } = setUp({ jobMs: 1000 });
    const check = await open(schema);
    await expect(check(answer)).rejects.toMatchObject(refused(/too long/));
    // It is remembered, for who has asked for it.
    await expect(open(schema)).rejects.toMatchObject(refused(/too long/));
    await expect(open(schema, "another")).resolves.toBeTypeOf("function");
  });

  it("references that multiply are ended before anything is checked", async () => {
    const { open } = setUp({ jobMs: 1000 });
    await expect(open(LADDER)).rejects.toMatchObject(refused(/too long/));
  });

  it("what needs too much memory is ended, and the next check works", async () => {
    const { open } = setUp({ heapMb: 24, jobMs: 60_000 });
    const check = await open({ items: { type: "string", minLength: 5, pattern: "b" } });
    await expect(check(JSON.stringify(Array.from({ length: 1_000_000 }, () => "a")))).rejects.toMatchObject(
      refused(/too much memory/),
    );
    expect(await (await open({ type: "object" }))("{}")).toBeUndefined();
  });

  it("an answer that is nested too deep does not match", async () => {
    const { open } = setUp();
    const check = await open({ properties: { x: { $ref: "#" } } });
    const depth = 100_000;
    expect(await check(`${'{"x":'.repeat(depth)}1${"}".repeat(depth)}`)).toBe("it is nested too deeply to be checked");
    expect(await check('{"x":{}}')).toBeUndefined();
  });

  it("costs no other check: those that wait are made by the next worker", async () => {
    const { open } = setUp({ jobMs: 1000 });
    const hostile = await open(SLOW_PATTERN, "hostile");
    const good = await open({ type: "object" }, "good");
    const slow = expect(hostile(SLOW_ANSWER)).rejects.toMatchObject(refused(/too long/));
    expect(await Promise.all(Array.from({ length: 10 }, () => good("{}")))).toEqual(Array(10).fill(undefined));
    await slow;
  });

  it("principals take turns, so that many checks of one delay another's by one only", async () => {
    const { open } = setUp({ jobMs: 1000 });
    const order: string[] = [];
    const checks = await Promise.all([1, 2, 3].map((n) => open(slowPattern(n), "hostile")));
    const good = await open({ type: "object" }, "good");
    const slow = checks.map((check) => check(SLOW_ANSWER).catch(() => order.push("hostile")));
    await Promise.all([...slow, good("{}").then(() => order.push("good"))]);
    expect(order).toEqual(["hostile", "good", "hostile", "hostile"]);
  });

  it("checks of many made-up tokens together delay one with a key by one at most", async () => {
    const { open, openFor } = setUp({ jobMs: 1000 });
    const checks = await Promise.all([1, 2, 3].map((n) => openFor(forged(n), slowPattern(n))));
    const good = await open({ type: "object" }, "owner");
    const order: string[] = [];
    const slow = checks.map((check) => check(SLOW_ANSWER).catch(() => order.push("forged")));
    await Promise.all([...slow, good("{}").then(() => order.push("owner"))]);
    expect(order.indexOf("owner")).toBeLessThanOrEqual(1);
    expect(order).toHaveLength(4);
  });

  it("checks of many made-up tokens together delay one of an accepted token by one only", async () => {
    const { openFor } = setUp({ jobMs: 1000 });
    const checks = await Promise.all([1, 2, 3].map((n) => openFor(forged(n), slowPattern(n))));
    const good = await openFor(accepted, { type: "object" });
    const order: string[] = [];
    const slow = checks.map((check) => check(SLOW_ANSWER).catch(() => order.push("forged")));
    await Promise.all([...slow, good("{}").then(() => order.push("accepted"))]);
    expect(order).toEqual(["forged", "accepted", "forged", "forged"]);
  });

  it("few checks of made-up tokens may wait, and they take no place from others", async () => {
    const { open, openFor } = setUp({ waitingUnverified: 2, jobMs: 1000 });
    const check = await openFor(forged(1), SLOW_PATTERN);
    const running = check(SLOW_ANSWER).catch(() => {});
    const waiting = [2, 3].map((n) => openFor(forged(n), { minLength: n }));
    await expect(openFor(forged(4), { minLength: 4 })).rejects.toMatchObject({
      kind: "rate-limited",
      code: "too_many_schemas",
    });
    await Promise.all([openFor(accepted, { minLength: 5 }), open({ minLength: 6 }, "owner"), ...waiting, running]);
  });

  it("a schema that was refused while the same one waited is not tried again", async () => {
    const { open } = setUp({ jobMs: 1000 });
    const check = await open(SLOW_PATTERN);
    // Thirty deadlines would be longer than a test may take.
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => check(SLOW_ANSWER)));
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
  });

  it("too many that wait are refused, those of one principal first", async () => {
    const { open } = setUp({ waitingPerPrincipal: 2, waiting: 3, jobMs: 1000 });
    const check = await open(SLOW_PATTERN, "a");
    const running = check(SLOW_ANSWER).catch(() => {});
    const waiting = [check("{}"), check("{}")].map((one) => one.catch(() => {}));
    await expect(check("{}")).rejects.toMatchObject({ kind: "rate-limited", code: "too_many_schemas" });
    const third = open({ minLength: 1 }, "b");
    await expect(open({ minLength: 2 }, "b")).rejects.toMatchObject({ kind: "busy" });
    await third;
    await Promise.all([running, ...waiting]);
  });

  it("who leaves does not wait, nor is its check made", async () => {
    const { open } = setUp({ jobMs: 1000 });
    const check = await open(SLOW_PATTERN);
    const slow = expect(check(SLOW_ANSWER)).rejects.toThrow();
    const leaving = new AbortController();
    const left = open({ minLength: 3 }, "p", leaving.signal);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ kind: "canceled" });
    await expect(open({}, "p", leaving.signal)).rejects.toMatchObject({ kind: "canceled" });
    await slow;
  });

  it("closing ends the worker and whoever waits for it", async () => {
    const { checker, open } = setUp();
    const check = await open(SLOW_PATTERN);
    const outcomes = Promise.allSettled([check(SLOW_ANSWER), check("{}")]);
    await checker.close();
    expect((await outcomes).map((one) => one.status === "rejected" && one.reason.kind)).toEqual([
      "canceled",
      "canceled",
    ]);
    await expect(open({ minLength: 9 })).rejects.toMatchObject({ kind: "canceled" });
  });
});

it("the worker keeps no process alive", async () => {
  const program = `
    import { createSchemaChecker } from "./src/schema/schema-checker.ts";
    const context = { principal: { id: "p", token: undefined }, field: "f", signal: new AbortController().signal };
    const alive = setInterval(() => {}, 1000);
    const check = await createSchemaChecker().open({ type: "object" }, context);
    console.log(await check("[]"));
    clearInterval(alive);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toBe("it must be object\n");
});

const accepted: Principal = { id: "token_accepted", token: new Secret("t") };
const forged = (n: number): Principal => ({ id: `token_${n}`, token: new Secret(`t${n}`), isUnverified: true });

/** Another digest for each number: what was refused is remembered. */
const slowPattern = (n: number): JsonObject => ({ ...SLOW_PATTERN, minProperties: n });

function manyPatterns(): [JsonObject, string] {
  // Each takes some ten milliseconds; the answer has very many of them.
  const answer = Array.from({ length: 20_000 }, () => `${"a".repeat(20)}!`);
  return [{ items: { pattern: "^(a+)+$" } }, JSON.stringify(answer)];
}
