import { CHAT } from "../clients/dialect.ts";
import { Connection, StreamedAnswer } from "../clients/load.ts";
import type { BenchResult } from "../harness/measure.ts";
import type { Subject } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";
import { cpuMs } from "../harness/usage.ts";
import type { Plan } from "../peers/plan.ts";

const FULL_SPEED = [
  { streams: 16, tokens: 20_000 },
  { streams: 256, tokens: 2_000 },
];
const PACED = { streams: 100, tokens: 150, rate: 50 };

/** Measures the cost of a token, at full speed and at the pace of a model. */
export async function measureCpuPerToken(bed: Testbed): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const load of [...FULL_SPEED, PACED]) {
    const rounds = await compare(bed, (subject) => tokenCost(subject, load));
    const name = "rate" in load ? `paced, ${load.streams} × ${load.rate}/s` : `full speed, ${load.streams} streams`;
    results.push({ name: `CPU per token: ${name}`, bound: 1.5, ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs") });
  }
  return results;
}

/** Microseconds for each token, as CPU time of the process and as elapsed time. */
export interface TokenCost {
  readonly cpuUs: number;
  readonly wallUs: number;
}

type Load = Plan & { readonly streams: number };

/** Measures the cost of a token in a public API. */
export function tokenCost(subject: Subject, load: Load, dialect = CHAT): Promise<TokenCost> {
  return costOf(subject.pid, load, (plan, onFirst) => {
    const answer = new StreamedAnswer({ onFirst });
    const connection = new Connection(subject, dialect);
    const done = connection.ask(plan, answer).then(() => {
      connection.destroy();
      if (answer.lost + answer.repeated > 0) throw new Error("tokens were lost or repeated");
    });
    return { answer, done };
  });
}

/** Measures from the moment when the last stream has begun, so that opening streams does not count. */
export async function costOf(
  pid: number,
  { streams, ...plan }: Load,
  ask: (
    plan: Plan,
    onFirst: () => void,
  ) => { readonly answer: { readonly tokens: number }; readonly done: Promise<void> },
): Promise<TokenCost> {
  let open = 0;
  let [startMs, startedAt, tokensBefore] = [0, 0, 0];
  const onFirst = () => {
    if (++open < streams) return;
    [startMs, startedAt] = [cpuMs(pid), performance.now()];
    tokensBefore = runs.reduce((sum, { answer }) => sum + answer.tokens, 0);
  };
  const runs = Array.from({ length: streams }, (_, id) => ask({ ...plan, id, together: streams }, onFirst));
  await Promise.all(runs.map(({ done }) => done));
  const tokens = streams * plan.tokens - tokensBefore;
  return {
    cpuUs: ((cpuMs(pid) - startMs) * 1000) / tokens,
    wallUs: ((performance.now() - startedAt) * 1000) / tokens,
  };
}
