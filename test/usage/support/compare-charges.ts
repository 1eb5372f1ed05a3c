import { DatabaseSync } from "node:sqlite";
import { Secret } from "../../../src/core/secret.ts";
import { loadUsageEvents } from "../../../src/credentials/account-usage.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";

interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export interface Comparison {
  /** Runs whose figures are the upstream's, and how many of them have figures other than the simulator's. */
  readonly exactRuns: number;
  readonly wrong: readonly unknown[];
  /** Charges without a run in the record, by Cursor's id of the conversation. */
  readonly missing: readonly string[];
  /** Conversations whose requests do not sum up to their runs. */
  readonly unequal: readonly unknown[];
  /** Runs without exact figures, by their outcome. */
  readonly inexact: Readonly<Record<string, number>>;
  /** What the requests of all conversations with exact figures only come to, and what was charged for these. */
  readonly record: Tokens;
  readonly charged: Tokens;
  readonly requestIds: ReadonlySet<string>;
}

/** Compares the usage record with what the simulator says it charged. */
export async function compareCharges(path: string, simUrl: string): Promise<Comparison> {
  const call = { transport: createHttp1Transport(), origin: simUrl };
  const { events } = await loadUsageEvents(new Secret("tester"), { sinceMs: 0, untilMs: 2 ** 42 }, call);
  const charges = new Map<string, Tokens>();
  for (const { conversationId, inputTokens, outputTokens, cacheReadTokens } of events) {
    const tokens = { input: inputTokens, output: outputTokens, cached: cacheReadTokens };
    const id = conversationId.replaceAll("-", "");
    charges.set(id, add(charges.get(id), tokens));
  }
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = <Row>(sql: string) => database.prepare(sql).all() as unknown as readonly Row[];
  const runs = rows<Tokens & { id: string; conversation: string; outcome: string; origin: string | null }>(
    `SELECT lower(hex(upstream_conversation)) AS id, conversation, outcome, origin, total(input) AS input,
      total(output) AS output, total(cached) AS cached FROM run WHERE upstream_conversation IS NOT NULL GROUP BY 1`,
  );
  const requests = rows<Tokens & { conversation: string }>(
    `SELECT conversation, total(input) AS input, total(output) AS output, total(cached) AS cached FROM request GROUP BY 1`,
  );
  const runSums = rows<Tokens & { conversation: string }>(
    `SELECT conversation, total(input) AS input, total(output) AS output, total(cached) AS cached FROM run GROUP BY 1`,
  );
  const requestIds = new Set(rows<{ id: string }>("SELECT id FROM request").map(({ id }) => id));
  database.close();

  const exact = runs.filter(({ origin }) => origin === "upstream");
  const inexact: Record<string, number> = {};
  for (const { origin, outcome } of runs) if (origin !== "upstream") inexact[outcome] = (inexact[outcome] ?? 0) + 1;
  const doubtful = new Set(runs.filter(({ origin }) => origin !== "upstream").map(({ conversation }) => conversation));
  const known = new Set(runs.map(({ id }) => id));
  const byConversation = new Map(runSums.map((row) => [row.conversation, row]));
  return {
    exactRuns: exact.length,
    wrong: exact
      .filter((run) => !isSame(run, charges.get(run.id)))
      .map((run) => ({ ...run, was: charges.get(run.id) })),
    missing: [...charges.keys()].filter((id) => !known.has(id)),
    unequal: requests.filter((row) => !isSame(row, byConversation.get(row.conversation))),
    inexact,
    record: requests.filter(({ conversation }) => !doubtful.has(conversation)).reduce<Tokens>(add, NOTHING),
    charged: runs
      .filter(({ conversation }) => !doubtful.has(conversation))
      .reduce<Tokens>((sum, { id }) => add(sum, charges.get(id) ?? NOTHING), NOTHING),
    requestIds,
  };
}

const NOTHING: Tokens = { input: 0, output: 0, cached: 0 };

const add = (a: Tokens | undefined, b: Tokens): Tokens => ({
  input: (a?.input ?? 0) + b.input,
  output: (a?.output ?? 0) + b.output,
  cached: (a?.cached ?? 0) + b.cached,
});

const isSame = (a: Tokens, b: Tokens | undefined): boolean =>
  a.input === (b?.input ?? 0) && a.output === (b?.output ?? 0) && a.cached === (b?.cached ?? 0);
