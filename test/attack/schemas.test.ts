import { afterAll, beforeAll, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/turn.ts";
import { WORKER_LIMITS } from "../../src/schema/worker-queue.ts";
import type { DialectAdapter, Question } from "../gateway/support/dialect.ts";
import { DIALECTS } from "../gateway/support/dialects/index.ts";
import { KEY, type Stage, setUpGateway } from "../gateway/support/gateway-process.ts";
import { SchemaGenerator } from "../schema/support/generate-schemas.ts";

/** `ATTACK_SEED` repeats a run. */
const SEED = Number(process.env["ATTACK_SEED"] ?? Date.now() % 1_000_000);
const ATTACK_MS = 45_000;
const AT_ONCE = 6;

const cleanups: (() => unknown)[] = [];
let gateway: Awaited<ReturnType<Stage["start"]>>;

beforeAll(async () => {
  const stage = await setUpGateway({}, {}, (cleanup) => cleanups.push(cleanup));
  gateway = await stage.start();
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

/** Another principal than the owner of the key: a Cursor token that came with the request. */
const BYSTANDER = ["eyJhbGciOiJub25lIn0", Buffer.from('{"sub":"bystander"}').toString("base64url"), "x"].join(".");

interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly code: string;
  readonly message: string;
}

async function ask(
  dialect: DialectAdapter,
  answer: JsonValue,
  schema: JsonObject | undefined,
  key = KEY,
): Promise<Outcome> {
  const question: Question = {
    messages: [{ type: "user", text: `@sim say ${JSON.stringify(answer)}` }],
    ...(schema && { schema }),
  };
  const response = await fetch(`${gateway.url}${dialect.path(question, false)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...dialect.headers(key) },
    body: JSON.stringify(dialect.body(question, false)),
  });
  const body = (await response.json()) as { error?: { code?: string } };
  if (response.ok) return { status: 200, text: dialect.answer(body).text, code: "", message: "" };
  const { message } = dialect.error(body, response.status);
  return { status: response.status, text: "", code: body.error?.code ?? "", message };
}

const isMismatch = ({ status, message }: Outcome) =>
  status === 502 && /does not match the requested JSON/.test(message);

it(`hostile schemas, seed ${SEED}: each gets a 4xx or a correct answer, and others are answered meanwhile`, async () => {
  const generator = new SchemaGenerator(SEED);
  const end = performance.now() + ATTACK_MS;
  const statuses = new Map<number, number>();
  const note = ({ status }: Outcome) => statuses.set(status, (statuses.get(status) ?? 0) + 1);

  const attack = async (dialect: DialectAdapter): Promise<void> => {
    const { schema, answer } = generator.hostile();
    const outcome = await ask(dialect, answer, schema);
    note(outcome);
    const isRight =
      (outcome.status >= 400 && outcome.status < 500) ||
      (outcome.status === 200 && outcome.text === JSON.stringify(answer)) ||
      isMismatch(outcome);
    expect({ isRight, outcome, schema: JSON.stringify(schema).slice(0, 2000) }).toMatchObject({ isRight: true });
  };
  const use = async (dialect: DialectAdapter): Promise<void> => {
    const { schema, good, bad } = generator.sound();
    const asked = JSON.stringify(schema);
    expect([await ask(dialect, good, schema, BYSTANDER), asked]).toMatchObject([{ text: JSON.stringify(good) }, asked]);
    const wrong = await ask(dialect, bad, schema, BYSTANDER);
    expect([isMismatch(wrong), wrong, asked]).toMatchObject([true, {}, asked]);
  };

  for (let round = 0; performance.now() < end; round++) {
    const dialect = DIALECTS[round % DIALECTS.length] as DialectAdapter;
    const began = performance.now();
    let [isOver, answered] = [false, 0];
    const attacks = Promise.all(Array.from({ length: AT_ONCE }, () => attack(dialect))).finally(() => {
      isOver = true;
    });
    attacks.catch(() => {});
    const bystander = use(dialect);
    bystander.catch(() => {});
    do {
      expect(await ask(dialect, "hi", undefined)).toMatchObject({ status: 200, text: '"hi"' });
      answered++;
    } while (!isOver);
    await attacks;
    // A round that waited for a deadline had time for many answers, unless nobody was answered meanwhile.
    if (performance.now() - began > WORKER_LIMITS.jobMs) expect(answered).toBeGreaterThan(2);
    await bystander;
  }
  expect(statuses.get(200)).toBeGreaterThan(0);
  expect(statuses.get(400)).toBeGreaterThan(0);
  expect(gateway.log()).not.toMatch(/unhandled|"level":"(error|fatal)"/i);
  expect(await gateway.stop()).toBe(0);
});
