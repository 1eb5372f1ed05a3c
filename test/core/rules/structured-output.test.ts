import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createEngine } from "../../../src/core/engine/engine.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { createOutputCheck } from "../../../src/core/rules/output-check.ts";
import type { OutputFormat, Turn } from "../../../src/core/turn.ts";
import { createSchemaChecker } from "../../../src/schema/schema-checker.ts";
import {
  aTurn,
  done,
  gather,
  type ScriptedDriver,
  scriptedDriver,
  someUsage,
  text,
  textIn,
  thinking,
  usage,
} from "../support/turns.ts";

const schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
};
const asSchema: OutputFormat = { type: "json-schema", name: "number", schema, field: "format" };
const asJson: OutputFormat = { type: "json" };

const schemas = createSchemaChecker();
afterAll(() => schemas.close());
const { signal } = new AbortController();
const createCheck = (format: OutputFormat) =>
  createOutputCheck(format, { schemas, signal, principal: aTurn().principal });

const ask = (driver: ScriptedDriver, over: Partial<Turn> = {}) =>
  createEngine({ drivers: new Map([["d", driver]]), route: () => "d", schemas }).run(
    aTurn({ output: asSchema, ...over }),
    {
      requestId: "r",
      signal,
    },
  );

const answer = (...pieces: string[]): (readonly TurnEvent[])[] => [
  ...pieces.map((piece) => [text(piece)]),
  [usage(), done()],
];

describe("an answer in JSON", () => {
  it("is held back until it is whole, and given out as one text", async () => {
    const driver = scriptedDriver([[thinking("hm")], ...answer('```json\n{"n', '": 1}\n```')]);
    expect(await gather(ask(driver, { system: "Be kind." }))).toEqual([
      thinking("hm"),
      text('{"n": 1}'),
      usage(),
      done(),
    ]);
    expect(driver.turns[0]?.system).toMatch(/^Be kind\.\n\nAnswer with JSON only/);
    expect(driver.turns[0]?.system).toContain('"additionalProperties":false');
  });

  it("gets one chance to be repaired, told what is wrong; both attempts are counted", async () => {
    const driver = scriptedDriver(answer('{"n": "one"}'), answer('{"n": 1}'));
    expect(await gather(ask(driver))).toEqual([
      text('{"n": 1}'),
      usage({ inputTokens: 20, outputTokens: 10, cachedTokens: 8, cacheWrittenTokens: 4, reasoningTokens: 2 }),
      done(),
    ]);
    expect(driver.turns[1]?.messages.slice(1)).toMatchObject([
      { role: "assistant", content: [{ text: '{"n": "one"}' }] },
      { role: "user", content: [{ text: expect.stringContaining("it/n must be integer") }] },
    ]);
  });

  it("that still does not match is an error that says what, and nothing is shown", async () => {
    const driver = scriptedDriver(answer("no"), answer('{"m": 1}'), answer('{"n": 1}'));
    await expect(gather(ask(driver))).rejects.toMatchObject({
      kind: "upstream-failed",
      code: "invalid_json_output",
      retryable: false,
      message: expect.stringContaining("must have required property 'n'"),
    });
    expect(driver.turns).toHaveLength(2);
  });

  it("goes out as it is when it calls tools: it is not final", async () => {
    const call: TurnEvent = { type: "tool-call", id: "1", name: "t", args: {} };
    const driver = scriptedDriver([
      [text("Let me see."), call, text("!")],
      [usage(), done("tool-calls")],
    ]);
    const named = { ...call, id: expect.stringMatching(/^sess_.*__call_0$/) };
    expect(await gather(ask(driver))).toEqual([text("Let me see."), named, text("!"), usage(), done("tool-calls")]);
  });

  it("goes out as it is when it was cut short, on the repair too", async () => {
    const cut = scriptedDriver([[text('{"n"')], [usage(), done("length")]]);
    expect(await gather(ask(cut))).toEqual([text('{"n"'), usage(), done("length")]);
    const later = scriptedDriver(answer("no"), [[text('{"n"')], [usage(), done("length")]]);
    expect((await gather(ask(later))).at(-2)).toEqual(
      usage({ inputTokens: 20, outputTokens: 10, cachedTokens: 8, cacheWrittenTokens: 4, reasoningTokens: 2 }),
    );
  });

  it.each<[string, string, string, string, string | undefined]>([
    ["in the JSON, which is cut there", '{"n": 11}', "1}", '{"n": 1', "1}"],
    ["around it, which is not part of the answer", '```json\n{"n": 1}\n```', "```", '{"n": 1}', undefined],
    ["after it, where only that makes it JSON", '{"n": 1} END {"n": }', "END", '{"n": 1}', "END"],
  ])("a stop sequence %s", async (_, said, stop, told, stopSequence) => {
    const driver = scriptedDriver([[text(said)], [usage(), done()]]);
    const events = await gather(ask(driver, { stop: [stop] }));
    expect(events).toEqual([text(told), usage(), { ...done(), ...(stopSequence && { stopSequence }) }]);
    expect(driver.turns).toHaveLength(1);
  });

  it("that is no JSON before a stop sequence either is repaired", async () => {
    const driver = scriptedDriver([[text("so END")], [usage(), done()]], answer('{"n": 1}'));
    expect(textIn(await gather(ask(driver, { stop: ["END"] })))).toBe('{"n": 1}');
  });

  it("cancels the upstream when the reader leaves", async () => {
    const driver = scriptedDriver([[thinking("a")], [thinking("b")], ...answer("{}")]);
    for await (const _ of ask(driver)) break;
    expect(driver.cancelled()).toBe(1);
  });

  it.each([
    ["an unknown type", { type: "strin" }],
    ["a keyword of the wrong kind", { type: "object", required: "n" }],
    ["a reference to elsewhere", { $ref: "https://example.com/schema" }],
    ["a broken pattern", { type: "string", pattern: "(" }],
    ["nothing where a schema should be", { properties: { a: null } }],
  ])("with a schema that has %s is refused before anything is asked", async (_, bad) => {
    const driver = scriptedDriver(answer("{}"));
    const output: OutputFormat = { type: "json-schema", name: "x", schema: bad, field: "format.schema" };
    await expect(gather(ask(driver, { output }))).rejects.toMatchObject({
      kind: "invalid-request",
      code: "invalid_json_schema",
      field: "format.schema",
    });
    expect(driver.turns).toEqual([]);
  });
});

it("without a checker of schemas, a turn that brings one is refused", async () => {
  const engine = createEngine({ drivers: new Map([["d", scriptedDriver(answer("{}"))]]), route: () => "d" });
  const answered = gather(engine.run(aTurn({ output: asSchema }), { requestId: "r", signal }));
  await expect(answered).rejects.toMatchObject({ kind: "unsupported", field: "format" });
});

describe("what counts as the JSON in a text", () => {
  it.each([
    ["bare", ' {"a":1} \n', '{"a":1}'],
    ["fenced", '```\n{"a":1}\n```', '{"a":1}'],
    ["fenced, with words", 'Here:\n```json\n{"a":1}\n```\nThat is it.', '{"a":1}'],
    ["fenced, with a fence inside", '```json\n{"a":"```"}\n```', '{"a":"```"}'],
    ["in words", 'Sure: {"a":[1]} as asked', '{"a":[1]}'],
  ])("%s", async (_, said, json) => {
    expect(await (await createCheck(asJson))(said)).toEqual({ isValid: true, json });
  });

  it.each(["", "no", "{", "[1]", "3", '{"a":1', "```json"])("not %j", async (said) => {
    expect((await (await createCheck(asJson))(said)).isValid).toBe(false);
  });

  it.each([
    [
      "of draft 2020-12",
      { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "number" }] },
      "[1]",
      '["a"]',
    ],
    ["of draft 7", { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "number" }] }, "[1]", '["a"]'],
    ["of no draft, with definitions", { $ref: "#/$defs/a", $defs: { a: { enum: [1] } } }, "1", "2"],
    ["with formats and words of its own", { type: "string", format: "email", example: 1 }, '"x"', "1"],
    [
      "that names itself",
      { $id: "https://example.com/x", type: "object", properties: { a: { $ref: "#" } } },
      '{"a":{}}',
      '{"a":1}',
    ],
  ])("a schema %s", async (_, given, good, bad) => {
    const check = await createCheck({ type: "json-schema", name: "x", schema: given, field: "format" });
    expect((await check(good)).isValid).toBe(true);
    expect((await check(bad)).isValid).toBe(false);
  });

  it("is any JSON object, however it is wrapped", async () => {
    const check = await createCheck(asJson);
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(["", ""], ["```json\n", "\n```"]),
        async (value, [before, after]) => {
          const json = JSON.stringify(value);
          expect(await check(`${before}${json}${after}`)).toEqual({ isValid: true, json });
        },
      ),
    );
  });
});

it("usage is summed up even if one attempt's is an estimate", async () => {
  const driver = scriptedDriver(answer("no"), [[text('{"n":1}'), done()]]);
  const events = await gather(ask(driver));
  expect(events.at(-2)).toMatchObject({
    type: "usage",
    usage: { isEstimate: true, cachedTokens: someUsage.cachedTokens },
  });
});
