import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { inTransaction } from "../../state/transaction.ts";
import { type BillingPeriod, billingPeriodAt } from "../limits/billing-period.ts";
import { HeldClock } from "../limits/held-clock.ts";
import { LIFTED, liftLimits } from "../limits/lift-limits.ts";
import type { PhaseName, RequestRecord, RunRecord, ToolCallRecord, UsageSink } from "../record/records.ts";
import { type Charge, ChargeRows } from "./charge-rows.ts";
import { KEYS_PER_MS, text } from "./row-values.ts";
import { RunRows } from "./run-rows.ts";

export interface UsageStoreOptions {
  /** Rows that are older are deleted. */
  readonly maxAgeMs: number;
  /** If the file has more in use, the oldest rows are deleted. */
  readonly maxBytes: number;
  /** Told what an operator should know, at most once a minute. */
  readonly onNotice: (text: string) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Decides to which hour a request counts. */
  readonly clock?: HeldClock;
}

/** What a principal has used in a window of time, or in a conversation. */
export interface Spending {
  /** All requests; those that were answered, even in part, are the steps. */
  readonly requests: number;
  readonly steps: number;
  readonly tokens: number;
  /** Millionths of a dollar. */
  readonly dollars: number;
  /** Milliseconds of answers, and of the tools between them. */
  readonly time: number;
}

const FLUSH_MS = 1000;
const PRUNE_MS = 10 * 60_000;
const NOTICE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Records that wait for a disk that is full or a file that is locked; beyond that the oldest are lost. */
const MAX_PENDING = 10_000;
/** The part of the rows that is deleted when the file is too large. */
const PRUNED_PART = 0.05;

/** The order in which the phases of a request are stored. */
export const PHASES: readonly PhaseName[] = [
  "gate",
  "parse",
  "credential",
  "checkpoint",
  "open",
  "first-frame",
  "model",
  "tools",
  "park",
];

/**
 * Keeps the usage record in SQLite. Records wait in memory and are written together, at most once a second, so a request
 * never waits for the disk, and a process that is killed loses one second. A batch is written as a whole or not at all.
 */
export class UsageStore implements UsageSink {
  readonly #connection: DatabaseSync;
  readonly #options: UsageStoreOptions;
  readonly #now: () => number;
  readonly #clock: HeldClock;
  readonly #openedAt: number;
  readonly #openedMs = performance.now();
  readonly #statements: ReturnType<typeof prepare>;
  readonly #runRows: RunRows;
  readonly #chargeRows: ChargeRows;
  #requests: RequestRecord[] = [];
  #calls: ToolCallRecord[] = [];
  /** By id, so that only the last state of a run is written. */
  #runs = new Map<string, RunRecord>();
  #corrections: Correction[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  #unsavedLoss = 0;
  #prunedAt = Number.NEGATIVE_INFINITY;
  #noticedAt = Number.NEGATIVE_INFINITY;
  #isOpen = true;

  constructor(connection: DatabaseSync, options: UsageStoreOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#clock = options.clock ?? new HeldClock(this.#now);
    this.#openedAt = this.#now();
    this.#statements = prepare(connection);
    this.#runRows = new RunRows(connection);
    this.#chargeRows = new ChargeRows(connection);
  }

  /** For queries of what is written. */
  get connection(): DatabaseSync {
    return this.#connection;
  }

  /** How many records could not be written since the start. */
  get lost(): number {
    return this.#lost;
  }

  request(record: RequestRecord): void {
    // Strangers without a key must not fill the disk.
    if (record.principalId === "") return;
    this.#requests.push(record);
    this.#wait();
  }

  toolCall(record: ToolCallRecord): void {
    this.#calls.push(record);
    this.#wait();
  }

  run(record: RunRecord): void {
    if (record.principalId === "") return;
    this.#runs.set(record.id, record);
    this.#wait();
  }

  /** Changes a record, whether it is written or not. */
  corrected(record: RequestRecord, before: RequestRecord): void {
    const waiting = this.#requests.indexOf(before);
    if (waiting >= 0) this.#requests[waiting] = record;
    else if (record.principalId !== "") this.#corrections.push({ record, before });
    this.#wait();
  }

  /** Replaces what an upstream has charged an account in a range of time. Returns false if that failed. */
  setCharges(
    account: string,
    range: { readonly fromMs: number; readonly untilMs: number },
    all: readonly Charge[],
  ): boolean {
    try {
      if (this.#isOpen) this.#chargeRows.replace(account, range, all);
      return this.#isOpen;
    } catch (error) {
      this.#lose(0, messageOf(error));
      return false;
    }
  }

  /** When the latest known charge of an account was made; undefined if there is none. */
  latestCharge(account: string): number | undefined {
    return this.#isOpen ? this.#chargeRows.latest(account) : undefined;
  }

  /**
   * Returns what a principal has used in the hours of this window, records that are not written yet included. It has
   * neither steps nor time, which are known for conversations only.
   */
  spent(principalId: string, fromMs: number, untilMs: number): Spending {
    const from = Math.floor(fromMs / HOUR_MS);
    const until = Math.ceil(untilMs / HOUR_MS);
    const written = this.#isOpen ? this.#statements.spent.get(principalId, from, until) : undefined;
    const sum = this.#addWaiting(principalId, written, ({ startedAt }) => {
      const hour = this.#hourOf(startedAt);
      return hour >= from && hour < until;
    });
    return { ...sum, steps: 0, time: 0 };
  }

  /** Returns what a principal has used in a conversation in this window. */
  spentIn(conversation: string, principalId: string, fromMs: number, untilMs: number): Spending {
    const { inConversation } = this.#statements;
    const range = [fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS] as const;
    const written = this.#isOpen ? inConversation.get(principalId, conversation, ...range) : undefined;
    return this.#addWaiting(
      principalId,
      written,
      (record) => record.conversation === conversation && record.startedAt >= fromMs && record.startedAt < untilMs,
    );
  }

  /** Counts tokens of a principal that no record has. Returns false if they could not be written. */
  addTokens(principalId: string, atMs: number, tokens: number): boolean {
    try {
      this.#statements.spend.run(principalId, this.#hourOf(atMs), tokens, 0, atMs);
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the current billing period of an account; undefined is the gateway's default account. */
  billingPeriod(account: string | undefined): BillingPeriod {
    const known = this.#isOpen ? this.#statements.billingPeriod.get(account ?? "") : undefined;
    return billingPeriodAt(this.#now(), known as Pick<BillingPeriod, "startMs" | "endMs"> | undefined);
  }

  /** Forgets what a principal has used as far as limits are concerned. Throws if the file cannot be written. */
  liftLimits(principalId: string): void {
    if (this.#isOpen) liftLimits(this.#connection, principalId, this.#now());
  }

  /** Keeps what Cursor says of an account's billing period. Does nothing if the file cannot be written. */
  setBillingPeriod(account: string | undefined, { startMs, endMs }: Pick<BillingPeriod, "startMs" | "endMs">): void {
    try {
      if (this.#isOpen) this.#statements.setBillingPeriod.run(account ?? "", startMs, endMs);
    } catch (error) {
      this.#lose(0, messageOf(error));
    }
  }

  /** Writes what waits. Returns false if that failed; it is tried again. */
  flush(): boolean {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const requests = this.#requests;
    const calls = this.#calls;
    const runs = this.#runs;
    const corrections = this.#corrections;
    if (!this.#isOpen || this.#pending === 0) return true;
    try {
      inTransaction(this.#connection, "BEGIN IMMEDIATE", () => {
        for (const record of requests) this.#insert(record);
        for (const correction of corrections) this.#correct(correction);
        for (const run of runs.values()) this.#runRows.put(run);
        for (const call of calls) this.#statements.call.run(...callValues(call));
        if (this.#unsavedLoss > 0) this.#statements.addFact.run("lost", this.#unsavedLoss);
        this.#prune();
      });
    } catch (error) {
      this.#keep(error);
      return false;
    }
    this.#requests = [];
    this.#calls = [];
    this.#runs = new Map();
    this.#corrections = [];
    this.#unsavedLoss = 0;
    return true;
  }

  close(): void {
    if (!this.#isOpen) return;
    if (!this.flush()) this.#lose(this.#pending, "the gateway stopped");
    clearTimeout(this.#timer);
    this.#isOpen = false;
    this.#connection.close();
  }

  #wait(): void {
    if (this.#isOpen) this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  get #pending(): number {
    return this.#requests.length + this.#calls.length + this.#runs.size + this.#corrections.length;
  }

  #insert(record: RequestRecord): void {
    const { principalId, startedAt } = record;
    const values = requestValues(record);
    // The first free key of its millisecond; two processes may have used the same.
    let at = startedAt * KEYS_PER_MS;
    while (this.#statements.request.run(at, ...values).changes === 0) at++;
    const { tokens, dollars } = addRecord(NOTHING, record);
    this.#statements.spend.run(principalId, this.#hourOf(startedAt), tokens, dollars, startedAt);
  }

  #hourOf(startedAt: number): number {
    return Math.floor(this.#clock.timeOf(startedAt) / HOUR_MS);
  }

  #addWaiting(
    principalId: string,
    written: object | undefined,
    isCounted: (record: RequestRecord) => boolean,
  ): Spending {
    const sum = { ...NOTHING, ...written };
    const isOwn = (record: RequestRecord) => record.principalId === principalId && isCounted(record);
    const requests = this.#requests.filter(isOwn);
    const corrections = this.#corrections.filter(({ record }) => isOwn(record));
    if (requests.length + corrections.length === 0) return sum;
    const liftedAt = this.#isOpen ? Number(this.#statements.liftedAt.get(principalId)?.["ms"]) : 0;
    return corrections
      .filter(({ record }) => record.startedAt >= liftedAt)
      .reduce(addCorrection, requests.filter(({ startedAt }) => startedAt >= liftedAt).reduce(addRecord, sum));
  }

  /** Writes the usage of a record again. The row is the one that has the old figures, since clients choose ids. */
  #correct({ record, before }: Correction): void {
    const { usage, cost, startedAt, principalId } = record;
    const first = startedAt * KEYS_PER_MS;
    const { changes } = this.#statements.correct.run(
      usage?.inputTokens ?? null,
      usage?.outputTokens ?? null,
      usage?.cachedTokens ?? null,
      usage?.cacheWrittenTokens ?? null,
      usage?.reasoningTokens ?? null,
      record.usageOrigin ?? null,
      record.run?.type ?? null,
      cost?.micros ?? null,
      cost ? Number(cost.isEstimate) : null,
      cost?.source ?? null,
      first,
      first + 2 * KEYS_PER_MS,
      record.id,
      before.usage?.inputTokens ?? null,
      before.usage?.outputTokens ?? null,
    );
    if (changes === 0) return;
    const { tokens, dollars } = addCorrection(NOTHING, { record, before });
    this.#statements.correctSpending.run(principalId, this.#hourOf(startedAt), tokens, dollars, startedAt);
  }

  /** Keeps a batch that could not be written for the next try. */
  #keep(error: unknown): void {
    const surplus = Math.max(0, this.#pending - MAX_PENDING);
    let left = surplus;
    for (const waiting of [this.#calls, this.#requests, this.#corrections]) left -= waiting.splice(0, left).length;
    for (const id of [...this.#runs.keys()].slice(0, left)) this.#runs.delete(id);
    this.#lose(surplus, messageOf(error));
    this.#wait();
  }

  #lose(records: number, reason: string): void {
    this.#lost += records;
    this.#unsavedLoss += records;
    const now = performance.now();
    if (now - this.#noticedAt < NOTICE_MS) return;
    this.#noticedAt = now;
    const loss = this.#lost === 0 ? "" : ` ${this.#lost} records are lost.`;
    this.#options.onNotice(`The usage record could not be written: ${reason}.${loss} Answers are not affected.`);
  }

  /** False if the clock has jumped since the start. No row is too old by such a clock. */
  #isClockSteady(): boolean {
    const jumpedMs = this.#now() - this.#openedAt - (performance.now() - this.#openedMs);
    return Math.abs(jumpedMs) <= MAX_CLOCK_JUMP_MS;
  }

  #prune(): void {
    if (performance.now() - this.#prunedAt < PRUNE_MS) return;
    this.#prunedAt = performance.now();
    const { maxAgeMs, maxBytes } = this.#options;
    const { deleteBefore, deleteCallsBefore, usedBytes, count, keyAfter } = this.#statements;
    const deleteUntil = (ms: number) => {
      deleteBefore.run(ms * KEYS_PER_MS);
      deleteCallsBefore.run(ms);
      this.#runRows.deleteBefore(ms);
      this.#chargeRows.deleteBefore(ms);
    };
    if (this.#isClockSteady()) deleteUntil(this.#now() - maxAgeMs);
    const used = usedBytes.get()?.["bytes"] as number;
    if (used <= maxBytes) return;
    const rows = count.get()?.["rows"] as number;
    const part = Math.max(PRUNED_PART, 1 - maxBytes / used);
    const next = keyAfter.get(Math.min(rows - 1, Math.ceil(rows * part)))?.["at"];
    if (typeof next === "number") deleteUntil(Math.floor(next / KEYS_PER_MS));
  }
}

/** A record that was written with other figures. */
interface Correction {
  readonly record: RequestRecord;
  readonly before: RequestRecord;
}

/** A clock that has moved further than time has passed is set anew, or was wrong. */
const MAX_CLOCK_JUMP_MS = 86_400_000;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const NOTHING: Spending = { requests: 0, steps: 0, tokens: 0, dollars: 0, time: 0 };

const addRecord = (sum: Spending, { usage, cost, durationMs, phases }: RequestRecord): Spending => ({
  requests: sum.requests + 1,
  steps: sum.steps + (usage ? 1 : 0),
  tokens: sum.tokens + (usage ? usage.inputTokens + usage.outputTokens : 0),
  dollars: sum.dollars + (cost?.micros ?? 0),
  time: sum.time + (usage ? durationMs + (phases.park ?? 0) : 0),
});

function addCorrection(sum: Spending, { record, before }: Correction): Spending {
  const after = addRecord(sum, record);
  const earlier = addRecord(NOTHING, before);
  return {
    requests: sum.requests,
    steps: after.steps - earlier.steps,
    tokens: after.tokens - earlier.tokens,
    dollars: after.dollars - earlier.dollars,
    time: after.time - earlier.time,
  };
}

const COLUMNS = 29;

/** When the limits of the principal of a statement were lifted last; requests that began before do not count. */
const LIFTED_AT = `coalesce((SELECT value FROM fact WHERE name = '${LIFTED}' || ?1), 0)`;

function prepare(connection: DatabaseSync) {
  const marks = (count: number) => Array.from({ length: count }, () => "?").join(", ");
  return {
    request: connection.prepare(`INSERT OR IGNORE INTO request VALUES (${marks(COLUMNS)})`),
    // A call that was lost may come back in a replay.
    call: connection.prepare(`INSERT OR REPLACE INTO tool_call VALUES (${marks(11)})`),
    spend: connection.prepare(
      `INSERT INTO spent SELECT ?1, ?2, 1, ?3, ?4 WHERE ?5 >= ${LIFTED_AT} ON CONFLICT (principal, hour) DO UPDATE SET
        requests = requests + 1, tokens = tokens + excluded.tokens, micros = micros + excluded.micros`,
    ),
    spent: connection.prepare(
      `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(micros), 0) AS dollars
        FROM spent WHERE principal = ? AND hour >= ? AND hour < ?`,
    ),
    // `park` is the last one of the phases.
    inConversation: connection.prepare(
      `SELECT count(*) AS requests, count(input) AS steps, coalesce(sum(input + output), 0) AS tokens,
        coalesce(sum(cost_micros), 0) AS dollars,
        coalesce(sum(ms + CAST(substr(phases, length(rtrim(phases, '.0123456789')) + 1) AS REAL))
          FILTER (WHERE input IS NOT NULL), 0) AS time
        FROM request WHERE conversation = ?2 AND principal = ?1 AND at >= max(?3, ${LIFTED_AT} * ${KEYS_PER_MS}) AND at < ?4`,
    ),
    correct: connection.prepare(
      `UPDATE request SET input = ?, output = ?, cached = ?, cache_written = ?, reasoning = ?, origin = ?, run = ?,
        cost_micros = ?, cost_estimated = ?, cost_source = ?
        WHERE at = (SELECT at FROM request WHERE at >= ? AND at < ? AND id = ? AND input IS ? AND output IS ? LIMIT 1)`,
    ),
    correctSpending: connection.prepare(
      `UPDATE spent SET tokens = tokens + ?3, micros = micros + ?4
        WHERE principal = ?1 AND hour = ?2 AND ?5 >= ${LIFTED_AT}`,
    ),
    liftedAt: connection.prepare(`SELECT ${LIFTED_AT} AS ms`),
    addFact: connection.prepare(
      "INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
    ),
    billingPeriod: connection.prepare(
      "SELECT start_ms AS startMs, end_ms AS endMs FROM billing_period WHERE account = ?",
    ),
    setBillingPeriod: connection.prepare("INSERT OR REPLACE INTO billing_period VALUES (?, ?, ?)"),
    deleteBefore: connection.prepare("DELETE FROM request WHERE at < ?"),
    deleteCallsBefore: connection.prepare("DELETE FROM tool_call WHERE asked_at < ?"),
    usedBytes: connection.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`,
    ),
    count: connection.prepare("SELECT count(*) AS rows FROM request"),
    keyAfter: connection.prepare("SELECT at FROM request ORDER BY at LIMIT 1 OFFSET ?"),
  };
}

function requestValues(record: RequestRecord): SQLInputValue[] {
  const { usage, run, cost, cache } = record;
  return [
    record.id,
    record.principalId,
    record.keyName,
    record.client,
    record.face,
    record.route,
    text(record.modelAsked),
    text(record.modelServed),
    record.driver ?? null,
    record.conversation ?? null,
    record.status,
    text(record.errorCode),
    record.firstTokenMs ?? null,
    record.durationMs,
    PHASES.map((name) => record.phases[name] ?? "").join(","),
    usage?.inputTokens ?? null,
    usage?.outputTokens ?? null,
    usage?.cachedTokens ?? null,
    usage?.cacheWrittenTokens ?? null,
    usage?.reasoningTokens ?? null,
    record.usageOrigin ?? null,
    run?.type ?? null,
    run?.type === "replayed" ? run.reason : null,
    cost?.micros ?? null,
    cost ? Number(cost.isEstimate) : null,
    cost?.source ?? null,
    cache?.possibleTokens ?? null,
    cache?.reason ?? null,
  ];
}

function callValues(call: ToolCallRecord): SQLInputValue[] {
  const { callId, requestId, principalId, ranBy, server, tool, askedAt, answeredAt, outcome, bytes } = call;
  // Ids of hub calls are the upstream's, and unique in a request only.
  const scope = ranBy === "hub" ? requestId : "";
  return [
    text(callId),
    scope,
    requestId,
    principalId,
    ranBy,
    text(server),
    text(tool),
    Math.round(askedAt),
    answeredAt === undefined ? null : Math.round(answeredAt),
    outcome,
    bytes ?? null,
  ];
}
