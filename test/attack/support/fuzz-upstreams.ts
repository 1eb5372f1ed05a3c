import fc from "fast-check";
import { expect } from "vitest";
import { createEngine } from "../../../src/core/engine/engine.ts";
import { createAnthropicDriver } from "../../../src/drivers/anthropic/driver.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import type { ApiLimits } from "../../../src/drivers/shared/api/api-run.ts";
import { driverOptions } from "../../drivers/support/open-driver.ts";
import { KEY, startTestGateway } from "../../server/support/gateway.ts";
import {
  DELIVERIES,
  type Delivery,
  type HostileUpstream,
  spellEvent,
  startHostileUpstream,
  UPSTREAM_ANSWERS,
  type UpstreamAnswer,
} from "./hostile-upstream.ts";
import { mutated, mutation } from "./mutate.ts";
import type { FuzzBudget } from "./seed.ts";

/** Small, so that what would hang for minutes ends at once. */
const LIMITS: Partial<ApiLimits> = {
  headersTimeoutMs: 500,
  idleTimeoutMs: 100,
  lingerMs: 50,
  quietTimeoutMs: 400,
  maxAnswerLength: 100_000,
};

/** What takes longer hangs. */
const PATIENCE_MS = 15_000;

const FACES = ["chat", "responses", "messages"] as const;
type FaceName = (typeof FACES)[number];

/** An answer of an upstream as it is sent, and who asks for it. Fast-check prints it whole. */
class HostileAnswer {
  readonly answer: UpstreamAnswer;
  readonly text: string;
  readonly delivery: Delivery;
  readonly face: FaceName;
  readonly isStream: boolean;

  constructor(answer: UpstreamAnswer, text: string, delivery: Delivery, face: FaceName, isStream: boolean) {
    this.answer = answer;
    this.text = text;
    this.delivery = delivery;
    this.face = face;
    this.isStream = isStream;
  }

  [fc.toStringMethod](): string {
    const asked = `${this.face}${this.isStream ? ", streamed" : ""}`;
    return `${this.answer.api}, ${this.delivery}, asked by ${asked}:\n${this.text}`;
  }
}

const hostileAnswer: fc.Arbitrary<HostileAnswer> = fc
  .record({
    answer: fc.constantFrom(...UPSTREAM_ANSWERS),
    mutations: fc.array(fc.tuple(fc.nat(20), mutation), { maxLength: 3 }),
    order: fc.array(fc.record({ kind: fc.constantFrom("drop", "repeat", "move"), at: fc.nat(20), to: fc.nat(20) }), {
      maxLength: 2,
    }),
    // Most others take their time.
    delivery: fc.oneof(
      { weight: 20, arbitrary: fc.constant("whole" as const) },
      { weight: 1, arbitrary: fc.constantFrom(...DELIVERIES) },
    ),
    face: fc.constantFrom(...FACES),
    isStream: fc.boolean(),
  })
  .map(({ answer, mutations, order, delivery, face, isStream }) => {
    const events = answer.events.map((event, index) =>
      mutated(
        event,
        mutations.filter(([at]) => at % answer.events.length === index).map(([, change]) => change),
      ),
    );
    const text = reorder(events, order).map((json) => spellEvent(answer.api, json));
    const end = answer.api === "openai" ? "data: [DONE]\n\n" : "";
    return new HostileAnswer(answer, text.join("") + end, delivery, face, isStream);
  });

interface Change {
  readonly kind: "drop" | "repeat" | "move";
  readonly at: number;
  readonly to: number;
}

function reorder(events: readonly string[], changes: readonly Change[]): readonly string[] {
  return changes.reduce<readonly string[]>((list, { kind, at, to }) => {
    const index = at % Math.max(list.length, 1);
    const event = list.slice(index, index + 1);
    const rest = kind === "repeat" ? list : list.toSpliced(index, 1);
    return kind === "drop" ? rest : rest.toSpliced(to % (rest.length + 1), 0, ...event);
  }, events);
}

interface HostileStage {
  readonly url: string;
  readonly upstream: HostileUpstream;
}

/** A gateway in this process in front of a server that answers as either API. */
export async function setUpHostileUpstream(): Promise<HostileStage> {
  const upstream = await startHostileUpstream();
  const anthropic = createAnthropicDriver({ ...driverOptions(upstream.url), limits: LIMITS });
  const openai = createOpenAiDriver({ ...driverOptions(`${upstream.url}/v1`), limits: LIMITS });
  const engine = createEngine({
    drivers: new Map([
      ["anthropic", anthropic],
      ["openai", openai],
    ]),
    route: (model) => model,
  });
  const gateway = await startTestGateway({ engine: engine as never });
  return { url: gateway.url, upstream };
}

export async function fuzzUpstreams(stage: HostileStage, budget: FuzzBudget): Promise<void> {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(hostileAnswer, async (hostile) => {
      if ((await checkHostileAnswer(stage, hostile)) === 200) answered++;
    }),
    budget,
  );
  expect(answered, "the mutations reach what is understood").toBeGreaterThan(0);
}

async function checkHostileAnswer({ url, upstream }: HostileStage, hostile: HostileAnswer): Promise<number> {
  const { answer, text, delivery, face, isStream } = hostile;
  upstream.answer(text, delivery, spellEvent(answer.api, mutated(answer.endless, [])));
  const { path, body } = QUESTIONS[face](answer.api);
  const response = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: isStream }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const said = await response.text();
  const shown = `${response.status} ${said.slice(0, 1000)}`;
  expect(said, shown).not.toMatch(/internal_error|configuration_error|node:internal|\bat .+:\d+:\d+/);
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    expect(said, shown).toMatch(LAST_WORDS);
  } else {
    const whole = JSON.parse(said);
    if (response.status === 200) checkShape(whole, shown);
    else expect(whole.error, shown).toMatchObject({ type: expect.any(String), message: expect.any(String) });
  }
  await within(upstream.idle(), `the upstream's answer stays open after: ${shown}`);
  return response.status;
}

const LAST_WORDS = /data: \[DONE\]|"type":"(?:response\.(?:completed|incomplete|failed)|message_stop|error)"|"error":/;

const user = { role: "user", content: "hello" };
const schema = { type: "object", properties: { at: { type: "string" } } };

const QUESTIONS: Readonly<Record<FaceName, (model: string) => { readonly path: string; readonly body: object }>> = {
  chat: (model) => ({
    path: "/v1/chat/completions",
    body: { model, messages: [user], tools: [{ type: "function", function: { name: "look", parameters: schema } }] },
  }),
  responses: (model) => ({
    path: "/v1/responses",
    body: { model, input: "hello", store: false, tools: [{ type: "function", name: "look", parameters: schema }] },
  }),
  messages: (model) => ({
    path: "/v1/messages",
    body: { model, max_tokens: 1000, messages: [user], tools: [{ name: "look", input_schema: schema }] },
  }),
};

/** Texts are texts, figures are figures, and each call has a name and an id of its own, whatever the upstream sent. */
function checkShape(value: unknown, shown: string): void {
  const ids = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, inner] of Object.entries(node)) {
      if (["text", "thinking", "arguments", "reasoning_content", "signature"].includes(key) && !isFields(inner)) {
        expect(inner, `${key} in ${shown}`).toBeTypeOf("string");
      }
      if (key.endsWith("_tokens") && inner !== null) expect(inner, `${key} in ${shown}`).toSatisfy(isTokens);
      visit(inner);
    }
    const call = node as Readonly<Record<string, unknown>>;
    if (call["type"] !== "tool_use" && call["type"] !== "function_call" && !isFields(call["function"])) return;
    const id = call["call_id"] ?? call["id"];
    expect(ids.has(id), `a call twice in ${shown}`).toBe(false);
    ids.add(id);
  };
  visit(value);
}

const isFields = (value: unknown): boolean => typeof value === "object" && value !== null;
const isTokens = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

async function within(promise: Promise<void>, otherwise: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise)), PATIENCE_MS);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
