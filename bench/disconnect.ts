import { setTimeout as sleep } from "node:timers/promises";
import { openStream } from "./load.ts";
import { type BenchResult, percentile, ROUNDS } from "./measure.ts";
import { MAX_TOKENS, nowUs } from "./plan.ts";
import type { Testbed } from "./testbed.ts";

const STREAMS = 200;
const RATE = 25;
const LONGEST_WAIT_MS = 2000;

/** A client that goes away: how long until the backend hears of it. In no round may one be left running. */
export async function measureDisconnect(bed: Testbed): Promise<BenchResult[]> {
  const waitsMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) waitsMs.push(...(await measureResets(bed, (round + 1) * 10_000)));
  return [
    {
      name: "client gone → upstream reset: p99",
      value: percentile(waitsMs, 0.99),
      unit: "ms",
      bound: 100,
      note: `p50 ${percentile(waitsMs, 0.5).toFixed(1)} ms, ${STREAMS} at once, ${waitsMs.length} in all`,
    },
  ];
}

/** Each stream has an id of its own, so that the backend's report tells which was reset when. */
async function measureResets({ gateway, upstream }: Testbed, firstId: number): Promise<number[]> {
  const ids = Array.from({ length: STREAMS }, (_, index) => firstId + index);
  const connections = await Promise.all(ids.map((id) => openStream(gateway, { id, tokens: MAX_TOKENS, rate: RATE })));
  const goneUs = connections.map((connection) => {
    connection.destroy();
    return nowUs();
  });
  await sleep(LONGEST_WAIT_MS / 4);
  let { resets } = await upstream.report();
  if (ids.some((id) => resets[id] === undefined)) {
    await sleep(LONGEST_WAIT_MS);
    ({ resets } = await upstream.report());
  }
  return ids.map((id, index) => ((resets[id] ?? Number.POSITIVE_INFINITY) - (goneUs[index] ?? 0)) / 1000);
}
