import { Connection, StreamedAnswer } from "../clients/load.ts";
import { type BenchResult, percentile } from "../harness/measure.ts";
import type { Subject } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";

const REQUESTS = 500;
const TOKENS = 4;

/** Measures the time to the first token on an open connection, with a backend that answers at once. */
export async function measureFirstToken(bed: Testbed): Promise<BenchResult[]> {
  const rounds = await compare(bed, measureWaits);
  return [
    { name: "time to first token: p50", bound: 2, ...ratioOf(rounds, ({ p50 }) => p50, "µs") },
    { name: "time to first token: p99", ...ratioOf(rounds, ({ p99 }) => p99, "µs") },
  ];
}

export async function measureWaits(subject: Subject): Promise<{ readonly p50: number; readonly p99: number }> {
  const connection = new Connection(subject);
  const waits: number[] = [];
  for (let n = 0; n < REQUESTS; n++) {
    const answer = new StreamedAnswer();
    await connection.ask({ tokens: TOKENS }, answer);
    waits.push(answer.firstTokenUs);
  }
  connection.destroy();
  return { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99) };
}
