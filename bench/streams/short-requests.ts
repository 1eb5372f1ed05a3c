import { Connection, WholeAnswer } from "../clients/load.ts";
import type { BenchResult } from "../harness/measure.ts";
import type { Subject } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";
import { cpuMs } from "../harness/usage.ts";

const CLIENTS = 16;
const DURATION_MS = 1500;
const TOKENS = 8;
/** A gateway runs for days. It takes this many requests until the code that runs once per request is compiled. */
const WARM_UP_REQUESTS = 25_000;

/** Measures short answers that are not streamed, in requests a second: the cost of everything but tokens. */
export async function measureShortRequests(bed: Testbed): Promise<BenchResult[]> {
  for (const subject of [bed.floor, bed.gateway]) await warmUp(subject);
  const rounds = await compare(bed, measureRequests);
  return [
    { name: "short requests a second", least: 0.4, ...ratioOf(rounds, ({ perSecond }) => perSecond, "a second") },
    { name: "short requests: CPU", ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs a request") },
  ];
}

export const warmUp = (subject: Subject, requests = WARM_UP_REQUESTS) =>
  askInParallel(subject, (count) => count < requests);

export async function measureRequests(
  subject: Subject,
): Promise<{ readonly perSecond: number; readonly cpuUs: number }> {
  const [start, before] = [performance.now(), cpuMs(subject.pid)];
  const count = await askInParallel(subject, () => performance.now() - start < DURATION_MS);
  return {
    perSecond: (count * 1000) / (performance.now() - start),
    cpuUs: ((cpuMs(subject.pid) - before) * 1000) / count,
  };
}

/** Sends requests over one connection per client. Returns their number. */
async function askInParallel(subject: Subject, goesOn: (count: number) => boolean): Promise<number> {
  let count = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const connection = new Connection(subject);
      const answer = new WholeAnswer();
      for (; goesOn(count); count++) await connection.ask({ tokens: TOKENS }, answer);
      connection.destroy();
    }),
  );
  return count;
}
