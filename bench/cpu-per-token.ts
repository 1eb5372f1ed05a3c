import { Connection, StreamedAnswer } from "./load.ts";
import type { BenchResult } from "./measure.ts";
import type { Plan } from "./plan.ts";
import type { Subject } from "./processes.ts";
import { compare, ratioOf, type Testbed } from "./testbed.ts";
import { cpuMs } from "./usage.ts";

const FULL_SPEED = [
  { streams: 16, tokens: 20_000 },
  { streams: 256, tokens: 1_200 },
];
const PACED = { streams: 100, tokens: 150, rate: 50 };

/** What a token costs, at full speed and as models speak. */
export async function measureCpuPerToken(bed: Testbed): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const load of [...FULL_SPEED, PACED]) {
    const rounds = await compare(bed, (subject) => cpuUsPerToken(subject, load));
    const name = "rate" in load ? `paced, ${load.streams} × ${load.rate}/s` : `full speed, ${load.streams} streams`;
    results.push({ name: `CPU per token: ${name}`, bound: 1.5, ...ratioOf(rounds, (us) => us, "µs") });
  }
  return results;
}

async function cpuUsPerToken(
  subject: Subject,
  { streams, ...plan }: Plan & { readonly streams: number },
): Promise<number> {
  const before = cpuMs(subject.pid);
  await Promise.all(
    Array.from({ length: streams }, async (_, id) => {
      const connection = new Connection(subject);
      const answer = new StreamedAnswer();
      await connection.ask({ ...plan, id }, answer);
      connection.destroy();
      if (answer.lost + answer.repeated > 0) throw new Error("tokens were lost or repeated");
    }),
  );
  return ((cpuMs(subject.pid) - before) * 1000) / (streams * plan.tokens);
}
