import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DialectAdapter, Question } from "../gateway/support/dialect.ts";
import { DIALECTS } from "../gateway/support/dialects/index.ts";
import { KEY, type Stage, setUpGateway } from "../gateway/support/gateway-process.ts";
import { ENDLESS_ENUMS, LADDER, nested, SLOW_ANSWER, SLOW_PATTERN } from "../schema/support/hostile-schemas.ts";

const cleanups: (() => unknown)[] = [];
let stage: Stage;
let gateway: Awaited<ReturnType<Stage["start"]>>;

beforeAll(async () => {
  stage = await setUpGateway({}, {}, (cleanup) => cleanups.push(cleanup));
  gateway = await stage.start();
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function ask(dialect: DialectAdapter, prompt: string, more: Partial<Question> = {}) {
  const question: Question = { messages: [{ type: "user", text: prompt }], ...more };
  const response = await fetch(`${gateway.url}${dialect.path(question, false)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...dialect.headers(KEY) },
    body: JSON.stringify(dialect.body(question, false)),
  });
  const body = await response.json();
  return response.ok
    ? { status: 200, text: dialect.answer(body).text, message: "" }
    : { status: response.status, text: "", message: dialect.error(body, response.status).message };
}

const isAlive = async (dialect: DialectAdapter) => {
  const { text } = await ask(dialect, '@sim say {"n": 1}', {
    schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  });
  expect(text).toBe('{"n": 1}');
};

describe.each(DIALECTS)("$name", (dialect) => {
  it.each<[string, object]>([
    ["$async", { $async: true, type: "object", required: ["n"] }],
    ["$async, deep inside", { type: "object", properties: { a: { items: { $async: true } } } }],
    ["$dynamicRef", { $dynamicRef: "#node" }],
    ["a reference to itself", { $ref: "#" }],
    ["a reference elsewhere", { $ref: "http://127.0.0.1:9/schema" }],
    ["a ladder of references", LADDER],
    ["deep names", { required: [nested(60, [])] }],
    ["3,000 alternatives", { oneOf: Array.from({ length: 3000 }, (_, n) => ({ const: n })) }],
    [
      "20,000 properties",
      { properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { type: "string" }])) },
    ],
    ["a broken pattern", { type: "string", pattern: "(" }],
  ])("%s is a 400 that names the field, and nothing is asked", async (_, schema) => {
    stage.trace.length = 0;
    const { status, message } = await ask(dialect, '@sim say {"m": 1}', { schema });
    expect(status).toBe(400);
    expect(message).toContain(`${dialect.schemaField}: this JSON schema cannot be used: `);
    expect(stage.trace.filter(({ kind }) => kind === "run_request")).toEqual([]);
    await isAlive(dialect);
  });

  it("a schema that only a careless validator cannot take is answered", async () => {
    expect(await ask(dialect, "@sim say {}", { schema: ENDLESS_ENUMS })).toMatchObject({ status: 200, text: "{}" });
  });

  it("a check that takes too long is a 400 that names the field", async () => {
    // The first dialect waits for the deadline, with others answered meanwhile. The others meet what is remembered of it.
    let [isOver, answered] = [false, 0];
    const hostile = ask(dialect, `@sim say ${SLOW_ANSWER}`, { schema: SLOW_PATTERN });
    void hostile.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      expect(await ask(dialect, "@sim say hi")).toMatchObject({ text: "hi" });
      answered++;
    }
    if (dialect === DIALECTS[0]) expect(answered).toBeGreaterThan(2);
    const { status, message } = await hostile;
    expect([status, message]).toEqual([400, expect.stringMatching(/: .* too long/)]);
    expect(message).toContain(dialect.schemaField);
    await isAlive(dialect);
  });
});

it("the process has not noticed", async () => {
  expect(gateway.log()).not.toMatch(/unhandled|"level":"(error|fatal)"/i);
  expect(await gateway.stop()).toBe(0);
});
