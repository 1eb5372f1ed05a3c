import { Connection, StreamedAnswer } from "../clients/load.ts";
import { type BenchResult, percentile } from "../harness/measure.ts";
import type { Subject } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";

const STREAMS = 500;
/** Tokens a second. */
const RATE = 25;
const TOKENS = 75;
/** A single pause decides the tail of a round, so there are more rounds than elsewhere. */
const ROUNDS = 15;
/** A gateway runs for days. Code that runs once per answer is slow until it is compiled. */
const WARM_UP = { answers: 10_000, atOnce: 50, tokens: 4 };

/** Measures many answers at once, at the pace of a reader: whether every token arrives, in order, and how late. */
export async function measurePacedStreams(bed: Testbed): Promise<BenchResult[]> {
  for (const subject of [bed.floor, bed.gateway]) await warmUp(subject);
  const rounds = await compare(bed, measureStreams, ROUNDS);
  const wrong = rounds.reduce((sum, { gateway }) => sum + gateway.wrong, 0);
  const name = `paced, ${STREAMS} × ${RATE}/s`;
  return [
    { name: `${name}: tokens lost, reordered, doubled`, value: wrong, unit: "tokens", bound: 0 },
    { name: `${name}: latency p50`, ...ratioOf(rounds, ({ p50 }) => p50, "µs") },
    { name: `${name}: latency p99`, ...ratioOf(rounds, ({ p99 }) => p99, "µs") },
  ];
}

async function warmUp(subject: Subject): Promise<void> {
  const { answers, atOnce, tokens } = WARM_UP;
  let begun = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (; begun < answers; begun++) {
        const connection = new Connection(subject);
        await connection.ask({ tokens }, new StreamedAnswer());
        connection.destroy();
      }
    }),
  );
}

interface Sample {
  readonly wrong: number;
  readonly p50: number;
  readonly p99: number;
}

async function measureStreams(subject: Subject): Promise<Sample> {
  const latenciesUs: number[] = [];
  let wrong = 0;
  await Promise.all(
    Array.from({ length: STREAMS }, async (_, id) => {
      const connection = new Connection(subject);
      const answer = new StreamedAnswer({ latenciesUs });
      await connection.ask({ tokens: TOKENS, rate: RATE, id, together: STREAMS }, answer);
      connection.destroy();
      wrong += answer.lost + answer.repeated;
    }),
  );
  // Counts only after the last stream has begun.
  const counted = latenciesUs.slice(STREAMS);
  return { wrong, p50: percentile(counted, 0.5), p99: percentile(counted, 0.99) };
}
