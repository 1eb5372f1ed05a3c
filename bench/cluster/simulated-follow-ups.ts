import { Agent, request } from "node:http";
import { type BenchResult, median, percentile, ROUNDS, spreadOf } from "../harness/measure.ts";
import { type Subject, startGateway, startHttpRelay, startSimulator } from "../harness/processes.ts";

const TASKS = 4;
const CALLS = 10;
/** Until the code that runs once for each request is compiled. */
const WARM_UP_ROUNDS = 8;
const MEASURED = 4 * ROUNDS;

const STEPS = Array.from({ length: CALLS }, (_, at) => `call look {"at":${at}} ;; wait ;; say ${"word ".repeat(50)}`);
const PROMPT = `@sim ${STEPS.join(" ;; ")}`;
const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

interface Answer {
  readonly firstTokenUs: number;
  readonly text: string;
  readonly call: { readonly id: string; readonly name: string; readonly args: string } | undefined;
}

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly { readonly id?: string; readonly function: { name?: string; arguments?: string } }[];
}

/**
 * Measures the first token of follow-ups as {@link measureCluster} does, but with the simulated backend, which does the work
 * of a real one, instead of the smallest possible upstream.
 */
export async function measureSimulatedFollowUps(settings: Readonly<Record<string, string>>): Promise<BenchResult[]> {
  const sim = await startSimulator(0);
  const open = (name: string) => startGateway(sim, { ...settings, EXCURSOR_CLUSTER_NODE: name });
  const [home, other] = [await open("sim-home"), await open("sim-other")];
  const relay = await startHttpRelay(home);
  const asked = [home, other, relay];
  const rounds: number[][] = [];
  try {
    for (let round = 0; round < WARM_UP_ROUNDS + MEASURED; round++) {
      const sample: number[] = [];
      for (let turn = 0; turn < asked.length; turn++) {
        const at = (turn + round) % asked.length;
        sample[at] = await firstToken(home, asked[at] ?? home);
      }
      if (round >= WARM_UP_ROUNDS) rounds.push(sample);
    }
  } finally {
    await Promise.all([relay, home, other].map((one) => one.stop()));
    await sim.stop();
  }
  const result = (name: string, at: number, bound?: number): BenchResult => {
    const ratios = rounds.map((sample) => (sample[at] ?? 0) / (sample[0] ?? 0));
    const us = (place: number) => Math.round(median(rounds.map((sample) => sample[place] ?? 0)));
    return {
      name,
      ...(bound && { bound }),
      value: median(ratios),
      note: `${spreadOf(ratios, 2)}; ${us(at)} against ${us(0)} µs`,
    };
  };
  return [
    result("forwarded follow-up, simulated backend: time to first token, p50, to that at home", 1, 1.5),
    result("the same through the smallest relay: time to first token, p50", 2),
  ];
}

/** Plays tasks whose calls go out at home, and whose results are sent to another gateway. Returns the median, in µs. */
async function firstToken(home: Subject, asked: Subject): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  for (let task = 0; task < TASKS; task++) {
    const messages: object[] = [{ role: "user", content: PROMPT }];
    let answer = await ask(home, messages, agent);
    while (answer.call) {
      const { id, name, args } = answer.call;
      const call = { id, type: "function", function: { name, arguments: args } };
      messages.push(
        { role: "assistant", content: answer.text || null, tool_calls: [call] },
        { role: "tool", tool_call_id: id, content: "seen" },
      );
      answer = await ask(asked, messages, agent);
      times.push(answer.firstTokenUs);
    }
  }
  agent.destroy();
  if (times.length !== TASKS * CALLS) throw new Error(`${times.length} follow-ups instead of ${TASKS * CALLS}`);
  return percentile(times, 0.5);
}

/** Asks for a streamed answer. */
function ask({ port, key }: Subject, messages: readonly object[], agent: Agent): Promise<Answer> {
  const body = JSON.stringify({ model: "gpt-5.5", stream: true, messages, tools: TOOLS });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const asked = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: "127.0.0.1", agent, method: "POST", path: "/v1/chat/completions", headers });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let received = "";
      let firstTokenUs = 0;
      response.setEncoding("utf8").on("data", (text: string) => {
        received += text;
        if (firstTokenUs === 0 && /"content":"[^"]/.test(received)) firstTokenUs = (performance.now() - asked) * 1000;
      });
      response.on("end", () => resolve({ firstTokenUs, ...read(received) }));
    });
    outgoing.end(body);
  });
}

function read(received: string): Omit<Answer, "firstTokenUs"> {
  let text = "";
  let call: Answer["call"];
  for (const line of received.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const { choices } = JSON.parse(line.slice("data: ".length)) as { choices?: readonly { delta: Delta }[] };
    const delta = choices?.[0]?.delta;
    text += delta?.content ?? "";
    for (const { id, function: called } of delta?.tool_calls ?? []) {
      const known = call ?? { id: "", name: "", args: "" };
      call = { id: id ?? known.id, name: called.name ?? known.name, args: known.args + (called.arguments ?? "") };
    }
  }
  return { text, call };
}
