import { Connection, StreamedAnswer } from "./load.ts";
import { type BenchResult, percentile } from "./measure.ts";
import type { Subject } from "./processes.ts";
import { tailResult } from "./tail-result.ts";
import { compare, ratioOf, type Testbed } from "./testbed.ts";

const STREAMS = 500;
/** Tokens a second. */
const RATE = 25;
/** The figure: all begin and end at the same moments. Beside it, without a bound: answers of different lengths, as people get. */
const TOKENS = { equal: () => 75, mixed: (id: number) => 50 + (id % 51) };
type Lengths = keyof typeof TOKENS;
/** One pause of anybody's is a tail of its own: the median needs more rounds than others. */
const ROUNDS = 9;
/** A gateway runs for days. What opens and ends an answer is called once for each, and is slow until it is compiled. */
const WARM_UP = { answers: 10_000, atOnce: 50, tokens: 4 };

/** Many answers at once, as fast as people read: is every token there, in its place, and in time? */
export async function measurePacedStreams(bed: Testbed): Promise<BenchResult[]> {
  for (const subject of [bed.floor, bed.gateway]) await warmUp(subject);
  const rounds = await compare(bed, (subject) => measureStreams(subject, "equal"), ROUNDS);
  const mixed = await compare(bed, (subject) => measureStreams(subject, "mixed"), ROUNDS);
  const wrong = [...rounds, ...mixed].reduce((sum, { gateway }) => sum + gateway.wrong, 0);
  const name = `paced, ${STREAMS} × ${RATE}/s`;
  return [
    { name: `${name}: tokens lost, reordered, doubled`, value: wrong, unit: "tokens", bound: 0 },
    { name: `${name}: latency p50`, ...ratioOf(rounds, ({ p50 }) => p50, "µs") },
    tailResult(`${name}: latency p99`, rounds, ({ p99 }) => p99),
    { name: `${name}, mixed lengths: latency p99`, ...ratioOf(mixed, ({ p99 }) => p99, "µs") },
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

async function measureStreams(subject: Subject, lengths: Lengths): Promise<Sample> {
  const latenciesUs: number[] = [];
  let wrong = 0;
  await Promise.all(
    Array.from({ length: STREAMS }, async (_, id) => {
      const connection = new Connection(subject);
      const answer = new StreamedAnswer({ latenciesUs });
      await connection.ask({ tokens: TOKENS[lengths](id), rate: RATE, id, together: STREAMS }, answer);
      connection.destroy();
      wrong += answer.lost + answer.repeated;
    }),
  );
  // What counts begins when the last is there.
  const counted = latenciesUs.slice(STREAMS);
  return { wrong, p50: percentile(counted, 0.5), p99: percentile(counted, 0.99) };
}
