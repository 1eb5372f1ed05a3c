import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { startSim } from "../../src/sim/server.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";

const CONVERSATIONS = Number(process.env["USAGE_CONVERSATIONS"] ?? 30);
const AT_ONCE = 5;

const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

type Message = Readonly<Record<string, unknown>>;

/** Numbers that look random and are the same in each run. */
function* numbers(): Generator<number, never> {
  for (let state = 20_261_116; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state;
  }
}

/** Conversations that come to their end, some after faults, failures and retries. */
const SCRIPTS: readonly ((input: number, output: number) => string)[] = [
  (input, output) => `usage ${input} ${output} ${input >> 1} ;; say hello`,
  (input, output) => `usage ${input} ${output} ;; call look {} ;; say {{result}}`,
  (input, output) => `usage ${input} ${output} ;; call look {} ;; say {{result}} ;; call look {} ;; say again`,
  (input, output) => `usage ${input} ${output} ;; fail unavailable times=1 ;; say after a failure`,
  (input, output) => `usage ${input} ${output} ;; think well ;; say a longer answer with several words`,
  () => "fail resource_exhausted",
];

it(`the sums of the record are what the simulator charged, over ${CONVERSATIONS} conversations`, async () => {
  const charged = { input: 0, output: 0, cached: 0 };
  const sim = await startSim({
    trace: ({ kind, message }) => {
      if (kind !== "turn_ended") return;
      const { turnEnded } = (message as { interactionUpdate: { turnEnded: Readonly<Record<string, string>> } })
        .interactionUpdate;
      charged.input += Number(turnEnded["inputTokens"]);
      charged.output += Number(turnEnded["outputTokens"]);
      charged.cached += Number(turnEnded["cacheReadTokens"]);
    },
  });
  try {
    const gateway = await openOwnGateway({ upstream: sim.url });
    const ask = async (messages: readonly Message[]): Promise<Message | undefined> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-5.5", messages, tools: TOOLS }),
      });
      const body = (await response.json()) as { choices?: { message: Message }[] };
      return body.choices?.[0]?.message;
    };
    const converse = async (script: string) => {
      const messages: Message[] = [{ role: "user", content: `@sim ${script}` }];
      for (;;) {
        const answer = await ask(messages);
        const calls = (answer?.["tool_calls"] ?? []) as { id: string }[];
        if (!answer || calls.length === 0) return;
        messages.push(answer, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "seen" })));
      }
    };
    const random = numbers();
    const next = () => random.next().value;
    for (let begun = 0; begun < CONVERSATIONS; begun += AT_ONCE) {
      const scripts = Array.from({ length: AT_ONCE }, (_, index) => {
        const script = SCRIPTS[(begun + index) % SCRIPTS.length];
        return script?.(100 + (next() % 5000), 10 + (next() % 500)) ?? "";
      });
      await Promise.all(scripts.map(converse));
    }
    await gateway.restart();
    const database = new DatabaseSync(join(gateway.home, "usage.db"), { readOnly: true });
    const sums = database
      .prepare("SELECT total(input) AS input, total(output) AS output, total(cached) AS cached FROM request")
      .get();
    database.close();
    expect(charged.input).toBeGreaterThan(0);
    expect(sums).toEqual(charged);
  } finally {
    await sim.close();
  }
});
