import { type BenchDialect, CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES } from "../clients/dialect.ts";
import { type BenchResult, median, spreadOf } from "../harness/measure.ts";
import { loadNote, measureRounds, type Testbed } from "../harness/testbed.ts";
import { type TokenCost, tokenCost } from "./cpu-per-token.ts";

const LOAD = { streams: 16, tokens: 10_000 };
const BOUND = 1.15;

/** Compares the cost of a token in the other dialects with Chat Completions, through the same gateway. */
export async function measureDialects(bed: Testbed): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  const ask = (which: BenchDialect) => tokenCost(bed.gateway, LOAD, which);
  for (const dialect of [RESPONSES, MESSAGES, OLLAMA, GEMINI]) {
    const rounds = await measureRounds(async (round) => {
      // In the order A-B-B-A, so that a drift of the machine affects both.
      const [outer, inner] = round % 2 === 0 ? [CHAT, dialect] : [dialect, CHAT];
      const [first, second, third, last] = [await ask(outer), await ask(inner), await ask(inner), await ask(outer)];
      const [around, within] = [sumOf(first, last), sumOf(second, third)];
      return outer === CHAT ? { chat: around, other: within } : { chat: within, other: around };
    });
    const ratios = (pick: (round: (typeof rounds)[number]) => number) => {
      const values = rounds.map(pick);
      return { value: median(values), bound: BOUND, note: `${spreadOf(values, 2)}${loadNote(rounds)}` };
    };
    results.push(
      { name: `${dialect.name} / chat: CPU per token`, ...ratios(({ chat, other }) => other.cpuUs / chat.cpuUs) },
      { name: `${dialect.name} / chat: time per token`, ...ratios(({ chat, other }) => other.wallUs / chat.wallUs) },
    );
  }
  return results;
}

const sumOf = (a: TokenCost, b: TokenCost): TokenCost => ({ cpuUs: a.cpuUs + b.cpuUs, wallUs: a.wallUs + b.wallUs });
