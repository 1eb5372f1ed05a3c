import { type BenchResult, median, ROUNDS, spreadOf } from "../harness/measure.ts";
import { type Subject, startDemo } from "../harness/processes.ts";
import { cpuMs } from "../harness/usage.ts";

/**
 * Measures the time from start to first answer, simulator included. Uses CPU time, which depends least on other load.
 */
export async function measureColdStart(): Promise<BenchResult[]> {
  const first = await measureStarts(true);
  // Fills the compile cache for the next starts.
  await startAndAsk(false);
  const next = await measureStarts(false);
  return [
    { name: "demo: start to first answer, own CPU", bound: 1000, ...next },
    { name: "demo: the same, nothing kept of an earlier start", ...first },
  ];
}

async function measureStarts(isFirst: boolean) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await startAndAsk(isFirst));
  return { value: median(times), unit: "ms", note: `${spreadOf(times, 0)} ms` };
}

async function startAndAsk(isFirst: boolean): Promise<number> {
  const demo = await startDemo(isFirst);
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
