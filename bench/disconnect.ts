import { setTimeout as sleep } from "node:timers/promises";
import { openStream } from "./load.ts";
import { type BenchResult, median, percentile } from "./measure.ts";
import { MAX_TOKENS, nowUs } from "./plan.ts";
import { loadNote, measureRounds, type Testbed } from "./testbed.ts";

const STREAMS = 200;
const RATE = 25;
const LONGEST_WAIT_MS = 2000;

/** Measures how long after a disconnect of all clients the backend sees each reset. */
export async function measureDisconnect(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await measureRounds(bed, async (round) => ({
    waitsMs: await measureResets(bed, (round + 1) * 10_000),
  }));
  const tails = rounds.map(({ waitsMs }) => percentile(waitsMs, 0.99));
  const waitsMs = rounds.flatMap((round) => round.waitsMs);
  const slowest = Math.max(...waitsMs);
  const spread = `${Math.min(...tails).toFixed(0)}..${Math.max(...tails).toFixed(0)}`;
  return [
    {
      name: "client gone → upstream reset: p99",
      value: slowest === Number.POSITIVE_INFINITY ? slowest : median(tails),
      unit: "ms",
      bound: 100,
      note: `${spread}; p50 ${median(waitsMs).toFixed(0)} ms; ${STREAMS} at once${loadNote(rounds)}`,
    },
  ];
}

/** Each stream has its own id, so that the backend's report tells when it was reset. */
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
