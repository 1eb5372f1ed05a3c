import { setTimeout as sleep } from "node:timers/promises";
import { Connection, openStream, StreamedAnswer } from "./load.ts";
import { type BenchResult, median, percentile } from "./measure.ts";
import { MAX_TOKENS, type Plan } from "./plan.ts";
import { heldBytes, type Subject, startGateway, type Upstream } from "./processes.ts";
import { loadNote, measureRounds, type Testbed } from "./testbed.ts";

const STALLED = 16;
const NEIGHBOURS = 50;
const NEIGHBOUR_PLAN = { tokens: 40, rate: 25 };
const WARM_UP_PLAN = { tokens: 10_000 };
const SETTLE_MS = 500;
const GRACE_MS = 5;
const MiB = 1024 * 1024;

/**
 * Measures readers that request everything and read nothing, on the same backend connection as all others. Each round
 * has a new process, and measures its neighbours before and during the stall.
 */
export async function measureStalledReader(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await measureRounds(bed, () => measureRound(bed.upstream));
  const before = median(rounds.map(({ beforeMs }) => beforeMs));
  const meanwhile = median(rounds.map(({ meanwhileMs }) => meanwhileMs));
  const ratio = median(rounds.map(({ beforeMs, meanwhileMs }) => meanwhileMs / beforeMs));
  const pulled = median(rounds.map(({ pulledTokens }) => pulledTokens));
  return [
    {
      name: "stalled reader: memory",
      value: median(rounds.map(({ bytes }) => bytes)) / MiB,
      unit: "MiB",
      bound: 1,
      note: `each of ${STALLED}, which have been sent ${pulled} tokens of ${MAX_TOKENS}`,
    },
    {
      name: "stalled reader: its neighbours' p99, meanwhile / before",
      value: ratio,
      bound: 2,
      excuse:
        ratio > 2 && meanwhile - before <= GRACE_MS
          ? `${(meanwhile - before).toFixed(1)} ms more, ${GRACE_MS} allowed`
          : undefined,
      note: `${meanwhile.toFixed(2)} ms against ${before.toFixed(2)} ms${loadNote(rounds)}`,
    },
  ];
}

interface Sample {
  readonly bytes: number;
  readonly pulledTokens: number;
  readonly beforeMs: number;
  readonly meanwhileMs: number;
}

async function measureRound(upstream: Upstream): Promise<Sample> {
  const gateway = await startGateway(upstream);
  try {
    await Promise.all(Array.from({ length: STALLED }, () => readAll(gateway, WARM_UP_PLAN)));
    await measureNeighbours(gateway);
    const before = await heldBytes(gateway);
    await measureNeighbours(gateway);
    const beforeMs = await measureNeighbours(gateway);
    const ids = Array.from({ length: STALLED }, (_, index) => 1_000_000 + index);
    const stalled = await Promise.all(
      ids.map(async (id) => {
        const connection = await openStream(gateway, { id, tokens: MAX_TOKENS });
        connection.stall();
        return connection;
      }),
    );
    const pulledTokens = await settled(upstream, ids);
    const meanwhileMs = await measureNeighbours(gateway);
    const bytes = ((await heldBytes(gateway)) - before) / STALLED;
    for (const connection of stalled) connection.destroy();
    return { bytes, pulledTokens, beforeMs, meanwhileMs };
  } finally {
    await gateway.stop();
  }
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
async function measureNeighbours(gateway: Subject): Promise<number> {
  const latenciesUs: number[] = [];
  const plan = { ...NEIGHBOUR_PLAN, together: NEIGHBOURS };
  const neighbours = Array.from({ length: NEIGHBOURS }, (_, id) => readAll(gateway, { ...plan, id }, latenciesUs));
  await Promise.all(neighbours);
  return percentile(latenciesUs.slice(NEIGHBOURS), 0.99) / 1000;
}

async function readAll(gateway: Subject, plan: Plan, latenciesUs: number[] = []): Promise<void> {
  const connection = new Connection(gateway);
  await connection.ask(plan, new StreamedAnswer({ latenciesUs }));
  connection.destroy();
}
