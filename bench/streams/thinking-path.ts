import { CHAT, CHAT_TAGS } from "../clients/dialect.ts";
import { type BenchResult, median, spreadOf } from "../harness/measure.ts";
import { startGateway } from "../harness/processes.ts";
import { loadNote, measureRounds, type Testbed } from "../harness/testbed.ts";
import { tokenCost } from "./cpu-per-token.ts";

const LOAD = { streams: 16, tokens: 20_000 };

/** Compares the cost of a token from Anthropic's API to Chat Completions with tags, with that from Cursor. */
export async function measureThinkingPath(bed: Testbed): Promise<BenchResult[]> {
  const { url } = bed.upstream;
  const environment = { EXCURSOR_MODELS: "bench=anthropic", EXCURSOR_ANTHROPIC_BASE_URL: url };
  const other = await startGateway(bed.upstream, environment);
  try {
    const rounds = await measureRounds(async (round) => {
      if (round % 2 === 0) return { cursor: await tokenCost(bed.gateway, LOAD, CHAT), anthropic: await tags() };
      const anthropic = await tags();
      return { cursor: await tokenCost(bed.gateway, LOAD, CHAT), anthropic };
    });
    const ratios = rounds.map(({ cursor, anthropic }) => anthropic.cpuUs / cursor.cpuUs);
    const us = `${median(rounds.map(({ anthropic }) => anthropic.cpuUs)).toPrecision(3)} µs`;
    return [
      {
        name: "anthropic to tags / cursor to chat: CPU per token",
        value: median(ratios),
        bound: 1.3,
        note: `${spreadOf(ratios, 2)}; ${us}${loadNote(rounds)}`,
      },
    ];
  } finally {
    await other.stop();
  }
  function tags() {
    return tokenCost(other, LOAD, CHAT_TAGS);
  }
}
