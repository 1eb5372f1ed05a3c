import { DatabaseSync } from "node:sqlite";
import { ChargeFollower } from "../../../src/app/usage/charge-follower.ts";
import { Secret } from "../../../src/core/secret.ts";
import { loadUsageEvents } from "../../../src/credentials/account-usage.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { openUsageDatabase } from "../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../src/usage/store/usage-store.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";

interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

export interface Comparison {
  readonly runs: number;
  /** Conversations of the upstream whose runs have other figures than the simulator's. */
  readonly wrong: readonly unknown[];
  /** Charges without a run in the record, by Cursor's id of the conversation. */
  readonly missing: readonly string[];
  /** Conversations whose requests do not sum up to their runs. */
  readonly unequal: readonly unknown[];
  /** Runs that had no figures of the upstream before they were settled by its charges, by their outcome. */
  readonly settled: Readonly<Record<string, number>>;
  /** What all requests come to, and what was charged for their runs. */
  readonly record: Tokens;
  readonly charged: Tokens;
  readonly requestIds: ReadonlySet<string>;
}

/** Compares the usage record with what the simulator says it charged, as it is when all charges are settled. */
export async function compareCharges(path: string, simUrl: string): Promise<Comparison> {
  const settled = await settleCharges(path, simUrl);
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
  const runs = rows<Tokens & { id: string }>(
    `SELECT lower(hex(upstream_conversation)) AS id, total(input) AS input, total(output) AS output,
      total(cached) AS cached FROM run WHERE upstream_conversation IS NOT NULL GROUP BY 1`,
  );
  const requests = rows<Tokens & { conversation: string }>(
    `SELECT conversation, total(input) AS input, total(output) AS output, total(cached) AS cached FROM request GROUP BY 1`,
  );
  const runSums = rows<Tokens & { conversation: string }>(
    `SELECT conversation, total(input) AS input, total(output) AS output, total(cached) AS cached FROM run GROUP BY 1`,
  );
  const requestIds = new Set(rows<{ id: string }>("SELECT id FROM request").map(({ id }) => id));
  database.close();

  const known = new Set(runs.map(({ id }) => id));
  const byConversation = new Map(runSums.map((row) => [row.conversation, row]));
  return {
    runs: runs.length,
    wrong: runs.filter((run) => !isSame(run, charges.get(run.id))).map((run) => ({ ...run, was: charges.get(run.id) })),
    missing: [...charges.keys()].filter((id) => !known.has(id)),
    unequal: requests.filter((row) => !isSame(row, byConversation.get(row.conversation))),
    settled,
    record: requests.reduce<Tokens>(add, NOTHING),
    charged: runs.reduce<Tokens>((sum, { id }) => add(sum, charges.get(id) ?? NOTHING), NOTHING),
    requestIds,
  };
}

const DAY_MS = 86_400_000;

/** Reconciles the record two days later. Returns the outcomes of the runs that had estimates until then. */
async function settleCharges(path: string, origin: string): Promise<Record<string, number>> {
  const now = () => Date.now() + 2 * DAY_MS;
  const connection = await openUsageDatabase(path, () => {});
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e12, onNotice: () => {}, now });
  const inexact = connection
    .prepare("SELECT outcome, count(*) AS runs FROM run WHERE origin <> 'upstream' GROUP BY 1")
    .all();
  const follower = new ChargeFollower({
    access: createFixedAccess(new Secret("tester")),
    call: { transport: createHttp1Transport(), origin },
    store,
    costOf: () => undefined,
    log: { debug: () => {}, warn: () => {} },
    now,
  });
  await follower.ask(undefined);
  follower.close();
  store.close();
  return Object.fromEntries(inexact.map(({ outcome, runs }) => [String(outcome), Number(runs)]));
}

const NOTHING: Tokens = { input: 0, output: 0, cached: 0 };

const add = (a: Tokens | undefined, b: Tokens): Tokens => ({
  input: (a?.input ?? 0) + b.input,
  output: (a?.output ?? 0) + b.output,
  cached: (a?.cached ?? 0) + b.cached,
});

const isSame = (a: Tokens, b: Tokens | undefined): boolean =>
  a.input === (b?.input ?? 0) && a.output === (b?.output ?? 0) && a.cached === (b?.cached ?? 0);
