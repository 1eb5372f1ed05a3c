import { tokenCost } from "./cpu-per-token.ts";
import { type BenchDialect, CHAT, MESSAGES, RESPONSES } from "./dialect.ts";
import { type BenchResult, median } from "./measure.ts";
import { loadNote, measureRounds, type Testbed } from "./testbed.ts";

const LOAD = { streams: 16, tokens: 20_000 };
const BOUND = 1.15;

/** What a token costs in the other dialects, against Chat Completions through the same gateway. */
export async function measureDialects(bed: Testbed): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const dialect of [RESPONSES, MESSAGES]) {
    const rounds = await measureRounds(bed, async (round) => {
      const ask = (which: BenchDialect) => tokenCost(bed.gateway, LOAD, which);
      if (round % 2 === 0) return { chat: await ask(CHAT), other: await ask(dialect) };
      const other = await ask(dialect);
      return { chat: await ask(CHAT), other };
    });
    const ratios = (pick: (round: (typeof rounds)[number]) => number) => {
      const values = rounds.map(pick);
      const spread = `${Math.min(...values).toFixed(2)}..${Math.max(...values).toFixed(2)}`;
      return { value: median(values), bound: BOUND, note: `${spread}${loadNote(rounds)}` };
    };
    results.push(
      { name: `${dialect.name} / chat: CPU per token`, ...ratios(({ chat, other }) => other.cpuUs / chat.cpuUs) },
      { name: `${dialect.name} / chat: time per token`, ...ratios(({ chat, other }) => other.wallUs / chat.wallUs) },
    );
  }
  return results;
}
