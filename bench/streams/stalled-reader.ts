import { setTimeout as sleep } from "node:timers/promises";
import { Connection, openStream, StreamedAnswer } from "../clients/load.ts";
import { type BenchResult, median, percentile, spreadOf } from "../harness/measure.ts";
import { heldBytes, type Subject, startGateway, type Upstream } from "../harness/processes.ts";
import { loadNote, measureRounds, type Testbed } from "../harness/testbed.ts";
import { MAX_TOKENS, type Plan } from "../peers/plan.ts";

const STALLED = 16;
const NEIGHBOURS = 50;
const NEIGHBOUR_PLAN = { tokens: 40, rate: 25 };
const WARM_UP_PLAN = { tokens: 10_000 };
const SETTLE_MS = 500;
const MiB = 1024 * 1024;

/**
 * Measures readers that request everything and read nothing, on the same backend connection as all others. Each round
 * has a new process, and measures its neighbours before and during the stall.
 */
export async function measureStalledReader(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await measureRounds(async () => {
    const gateway = await startGateway(bed.upstream);
    return measureStall(gateway, bed.upstream).finally(gateway.stop);
  });
  const neighbours = (share: keyof Latency) => {
    const ratios = rounds.map(({ before, meanwhile }) => meanwhile[share] / before[share]);
    const figure = (when: "before" | "meanwhile") => median(rounds.map((round) => round[when][share])).toFixed(2);
    const figures = `${figure("meanwhile")} against ${figure("before")} ms`;
    return { value: median(ratios), note: `${spreadOf(ratios, 2)}; ${figures}${loadNote(rounds)}` };
  };
  const pulled = median(rounds.map(({ pulledTokens }) => pulledTokens));
  return [
    {
      name: "stalled reader: memory",
      value: median(rounds.map(({ bytes }) => bytes)) / MiB,
      unit: "MiB",
      bound: 1,
      note: `each of ${STALLED}, which have been sent ${pulled} tokens of ${MAX_TOKENS}`,
    },
    { name: "stalled reader: its neighbours' p50, meanwhile / before", bound: 2, ...neighbours("p50") },
    { name: "stalled reader: its neighbours' p99, meanwhile / before", ...neighbours("p99") },
  ];
}

interface Sample {
  readonly bytes: number;
  readonly pulledTokens: number;
  readonly before: Latency;
  readonly meanwhile: Latency;
}

/** In milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** In a new process. */
export async function measureStall(gateway: Subject, upstream: Upstream): Promise<Sample> {
  await Promise.all(Array.from({ length: STALLED }, () => readAll(gateway, WARM_UP_PLAN)));
  await measureNeighbours(gateway);
  const heldBefore = await heldBytes(gateway);
  await measureNeighbours(gateway);
  const before = await measureNeighbours(gateway);
  const ids = Array.from({ length: STALLED }, (_, index) => 1_000_000 + index);
  const stalled = await Promise.all(
    ids.map(async (id) => {
      const connection = await openStream(gateway, { id, tokens: MAX_TOKENS });
      connection.stall();
      return connection;
    }),
  );
  const pulledTokens = await settled(upstream, ids);
  const meanwhile = await measureNeighbours(gateway);
  const bytes = ((await heldBytes(gateway)) - heldBefore) / STALLED;
  for (const connection of stalled) connection.destroy();
  return { bytes, pulledTokens, before, meanwhile };
}

/**
 * Waits until the backend sends them nothing more, because only then their buffers are full. Returns how many tokens
 * they were sent.
 */
async function settled(upstream: Upstream, ids: readonly number[]): Promise<number> {
  for (let before = Number.NaN; ; ) {
    await sleep(SETTLE_MS);
    const { sent } = await upstream.report();
    const now = median(ids.map((id) => sent[id] ?? 0));
    if (now === before) return now;
    before = now;
  }
}

/** Counts only after the last of them has begun. */
async function measureNeighbours(gateway: Subject): Promise<Latency> {
  const latenciesUs: number[] = [];
  const plan = { ...NEIGHBOUR_PLAN, together: NEIGHBOURS };
  const neighbours = Array.from({ length: NEIGHBOURS }, (_, id) => readAll(gateway, { ...plan, id }, latenciesUs));
  await Promise.all(neighbours);
  const countedMs = latenciesUs.slice(NEIGHBOURS).map((us) => us / 1000);
  return { p50: percentile(countedMs, 0.5), p99: percentile(countedMs, 0.99) };
}

async function readAll(gateway: Subject, plan: Plan, latenciesUs: number[] = []): Promise<void> {
  const connection = new Connection(gateway);
  await connection.ask(plan, new StreamedAnswer({ latenciesUs }));
  connection.destroy();
}
