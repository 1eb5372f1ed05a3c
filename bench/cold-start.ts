import { type BenchResult, median, ROUNDS } from "./measure.ts";
import { type Subject, startDemo } from "./processes.ts";
import { cpuMs } from "./usage.ts";

/** From nothing to the first answer, simulator and all: CPU time, which does not depend on who else is busy. */
export async function measureColdStart(): Promise<BenchResult[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await startAndAsk());
  const note = `${Math.min(...times)}..${Math.max(...times)} ms`;
  return [{ name: "demo: start to first answer, own CPU", value: median(times), unit: "ms", bound: 1000, note }];
}

async function startAndAsk(): Promise<number> {
  const demo = await startDemo();
  try {
    await ask(demo);
    return cpuMs(demo.pid);
  } finally {
    await demo.stop();
  }
}

async function ask({ port, key }: Subject): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const url = `http://127.0.0.1:${port}/v1`;
  const models = (await (await fetch(`${url}/models`, { headers })).json()) as { data: [{ readonly id: string }] };
  const body = JSON.stringify({ model: models.data[0].id, messages: [{ role: "user", content: "@sim say hello" }] });
  const answer = await (await fetch(`${url}/chat/completions`, { method: "POST", headers, body })).text();
  if (!answer.includes("hello")) throw new Error(`not the answer: ${answer}`);
}
