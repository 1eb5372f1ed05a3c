import { setTimeout as sleep } from "node:timers/promises";
import { BackendClient } from "../../test/sim/support/backend-client.ts";
import { type BenchResult, median } from "../harness/measure.ts";
import { type Subject, startGateway, startSimulator } from "../harness/processes.ts";

const BOOTSTRAP_MS = 6000;
const CALLS = 10;
const TOOL_MS = 100;
const ROUNDS = 3;

const PROMPT = `@sim ${Array.from({ length: CALLS }, (_, n) => `call look {"at":"${n}"} ;; say {{reused}}`).join(" ;; ")}`;

/**
 * Measures a task of ten tool calls in a row, with a backend that starts slowly: through the gateway, in eleven
 * requests, and on one stream of the backend's protocol. Also reports the time without parked runs.
 */
export async function measureToolTask(): Promise<BenchResult[]> {
  const sim = await startSimulator(BOOTSTRAP_MS);
  const warm = await startGateway(sim);
  const cold = await startGateway(sim, { EXCURSOR_LIMITS_PARKED_RUNS: "0" });
  const native = new BackendClient({ url: sim.url, transport: "h2", tools: { look } });
  try {
    const rounds: { readonly native: number; readonly warm: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({ native: await timed(() => runNative(native)), warm: await timed(() => runTask(warm, "stream")) });
    }
    const coldMs = await timed(() => runTask(cold, "fresh"));
    const ratios = rounds.map((times) => times.warm / times.native);
    const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
    const [ours, theirs] = [median(rounds.map(({ warm: ms }) => ms)), median(rounds.map((times) => times.native))];
    return [
      {
        name: `${CALLS} tool calls in a row, bootstrap ${BOOTSTRAP_MS / 1000} s: to one native stream`,
        value: median(ratios),
        bound: 1.05,
        note: `${seconds(ours)} against ${seconds(theirs)}; replayed each time ${seconds(coldMs)}`,
      },
    ];
  } finally {
    native.close();
    await Promise.all([warm.stop(), cold.stop()]);
    await sim.stop();
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function look(): Promise<string> {
  await sleep(TOOL_MS);
  return "seen";
}

async function runNative(client: BackendClient): Promise<void> {
  const { text, error } = await client.say(PROMPT);
  if (error) throw error;
  if (text !== "stream".repeat(CALLS)) throw new Error(`not the answer: ${text}`);
}

interface Message {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string }[];
}

/** Each answer after the first must name what it reused. */
async function runTask({ port, key }: Subject, reused: string): Promise<void> {
  const messages: object[] = [{ role: "user", content: PROMPT }];
  const parameters = { type: "object", properties: { at: { type: "string" } } };
  const tools = [{ type: "function", function: { name: "look", parameters } }];
  for (let n = 0; n <= CALLS; n++) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-5.5", messages, tools }),
    });
    const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: Message }[] };
    const message = choices[0]?.message;
    if (n > 0 && message?.content !== reused) throw new Error(`follow-up ${n} is ${message?.content}, not ${reused}`);
    messages.push({ ...message, role: "assistant" });
    for (const { id } of message?.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: id, content: await look() });
    }
  }
}
