import { setTimeout as sleep } from "node:timers/promises";
import { openStream } from "../clients/load.ts";
import { type BenchResult, median, percentile, spreadOf } from "../harness/measure.ts";
import type { Subject, Upstream } from "../harness/processes.ts";
import { loadNote, measureRounds, type Testbed } from "../harness/testbed.ts";
import { MAX_TOKENS, nowUs } from "../peers/plan.ts";

const STREAMS = 200;
const RATE = 25;
const LONGEST_WAIT_MS = 2000;

/** Measures how long after a disconnect of all clients the backend sees each reset. */
export async function measureDisconnect(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await measureRounds(async (round) => ({
    waitsMs: await measureResets(bed.gateway, bed.upstream, (round + 1) * 10_000),
  }));
  const waitsMs = rounds.flatMap((round) => round.waitsMs);
  const never = waitsMs.filter((ms) => ms === Number.POSITIVE_INFINITY).length;
  const [medians, tails] = [0.5, 0.99].map((share) => rounds.map((round) => percentile(round.waitsMs, share)));
  const figure = (values: readonly number[] = []) => ({
    value: median(values),
    unit: "ms",
    note: `${spreadOf(values, 0)}; ${STREAMS} at once${loadNote(rounds)}`,
  });
  return [
    { name: "client gone: streams that were never reset upstream", value: never, unit: "streams", bound: 0 },
    { name: "client gone → upstream reset: p50", bound: 100, ...figure(medians) },
    { name: "client gone → upstream reset: p99", ...figure(tails) },
  ];
}

/** Each stream has its own id, so that the backend's report tells when it was reset. */
export async function measureResets(gateway: Subject, upstream: Upstream, firstId: number): Promise<number[]> {
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
