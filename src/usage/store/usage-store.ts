import { randomInt } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Charge } from "../../core/charge.ts";
import { isDamage } from "../../state/sqlite-failure.ts";
import { inTransaction } from "../../state/transaction.ts";
import { HeldClock } from "../limits/held-clock.ts";
import { liftLimits, writeLift } from "../limits/lift-limits.ts";
import type { RequestRecord, RunRecord, ToolCallRecord, UsageSink } from "../record/records.ts";
import { CallRows } from "./call-rows.ts";
import { ChargeRows } from "./charge-rows.ts";
import { RequestRows, type Usual } from "./request-rows.ts";
import { RowPruner, type RowPrunerOptions } from "./row-pruner.ts";
import { RunRows } from "./run-rows.ts";
import { type Settlement, settleRuns } from "./settle-runs.ts";
import { addCorrection, NOTHING, type Spending, spendingOf } from "./spending.ts";
import { type Spent, SpentRows } from "./spent-rows.ts";
import { type UsageBatch, WaitingRecords } from "./waiting-records.ts";

export interface UsageStoreOptions extends Pick<RowPrunerOptions, "maxAgeMs" | "maxBytes"> {
  /** Told what an operator should know, at most once a minute. */
  readonly onNotice: (text: string) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Decides to which hour a request counts. */
  readonly clock?: HeldClock;
}

/** The least time between two writes, and the longest time that a record waits for one. */
const FLUSH_MS = 1000;
/** How long the first record after a pause waits for others. */
const GATHER_MS = 100;
const NOTICE_MS = 60_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Records that wait for a disk that is full or a file that is locked; beyond that the oldest are lost. */
const MAX_PENDING = 10_000;

/** A place in the stream of records of all gateways: a number of milliseconds, and a count. */
interface ImportedUntil {
  readonly ms: number;
  readonly count: number;
}

/**
 * Keeps the usage record in SQLite. Records wait in memory and are written together, at most once a second, so a request
 * never waits for the disk. A record is written within a second, so a process that is killed loses no more, unless its
 * event loop was blocked. A batch is written as a whole or not at all.
 */
export class UsageStore implements UsageSink {
  readonly #connection: DatabaseSync;
  readonly #options: UsageStoreOptions;
  readonly #now: () => number;
  readonly #clock: HeldClock;
  readonly #openedAt: number;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #requestRows: RequestRows;
  readonly #spentRows: SpentRows;
  readonly #callRows: CallRows;
  readonly #runRows: RunRows;
  readonly #chargeRows: ChargeRows;
  readonly #pruner: RowPruner;
  #waiting = new WaitingRecords();
  #timer: NodeJS.Timeout | undefined;
  /** When the last write began, by `performance.now()`. */
  #flushedAt = Number.NEGATIVE_INFINITY;
  #lost = 0;
  #unsavedLoss = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;
  #isOpen = true;

  constructor(connection: DatabaseSync, options: UsageStoreOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#clock = options.clock ?? new HeldClock(this.#now);
    this.#openedAt = this.#now();
    this.#statements = prepare(connection);
    this.#requestRows = new RequestRows(connection);
    this.#spentRows = new SpentRows(connection);
    this.#callRows = new CallRows(connection);
    this.#runRows = new RunRows(connection);
    this.#chargeRows = new ChargeRows(connection);
    const rows = { requests: this.#requestRows, others: [this.#callRows, this.#runRows, this.#chargeRows] };
    this.#pruner = new RowPruner(connection, rows, { ...options, now: this.#now });
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
    this.#waiting.addRequest(record);
    this.#wait();
  }

  toolCall(record: ToolCallRecord): void {
    this.#waiting.addCall(record);
    this.#wait();
  }

  run(record: RunRecord): void {
    if (record.principalId === "") return;
    this.#waiting.addRun(record);
    this.#wait();
  }

  /** Changes a record, whether it is written or not. */
  corrected(record: RequestRecord, before: RequestRecord): void {
    this.#waiting.correct({ record, before });
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

  /** Replaces the estimates of runs by what the upstream has charged for them, where that is settled. Does nothing if that fails. */
  settleRuns(settlement: Omit<Settlement, "endedMs">): void {
    try {
      if (!this.#isOpen) return;
      const all = { ...settlement, endedMs: this.#openedAt };
      inTransaction(this.#connection, "BEGIN IMMEDIATE", () => settleRuns(this.#connection, all));
    } catch (error) {
      this.#lose(0, messageOf(error));
    }
  }

  /** When the latest known charge of an account was made; undefined if there is none. */
  latestCharge(account: string): number | undefined {
    return this.#isOpen ? this.#chargeRows.latest(account) : undefined;
  }

  /** Returns what a principal has used in the hours of this window, records that are not written yet included. */
  spent(principalId: string, fromMs: number, untilMs: number): Spending {
    const from = Math.floor(fromMs / HOUR_MS);
    const until = Math.ceil(untilMs / HOUR_MS);
    const written = this.#isOpen ? this.#spentRows.sum(principalId, from, until) : undefined;
    return this.#addWaiting(principalId, written, ({ startedAt }) => {
      const hour = this.#hourOf(startedAt);
      return hour >= from && hour < until;
    });
  }

  /** Returns what a principal has used in the minute that begins at `fromMs`. */
  spentInMinute(principalId: string, fromMs: number): Spending {
    const [from, until] = [fromMs, fromMs + MINUTE_MS].map((ms) => ms - this.#clock.timeOf(0)) as [number, number];
    const written = this.#isOpen ? this.#requestRows.sumBetween(principalId, from, until) : undefined;
    return this.#addWaiting(principalId, written, ({ startedAt }) => startedAt >= from && startedAt < until);
  }

  /** Returns what a principal has used in a conversation. */
  spentIn(conversation: string, principalId: string): Spending {
    const written = this.#isOpen ? this.#requestRows.sumIn(conversation, principalId) : undefined;
    return this.#addWaiting(principalId, written, (record) => record.conversation === conversation);
  }

  /** Returns what a request of a principal has used lately on average, as far as it is written; undefined if none is found. */
  usual(principalId: string): Usual | undefined {
    return this.#isOpen ? this.#requestRows.usual(principalId) : undefined;
  }

  /** Returns when the limits of a principal were lifted last; 0 for never. */
  liftedAt(principalId: string): number {
    return this.#isOpen ? this.#spentRows.liftedAt(principalId) : 0;
  }

  /** Returns when the limits of principals were lifted last. */
  lifted(): readonly (readonly [principalId: string, ms: number])[] {
    return this.#isOpen ? this.#spentRows.lifted() : [];
  }

  /** Forgets what a principal has used as far as limits are concerned. Throws if the file cannot be written. */
  liftLimits(principalId: string): void {
    if (this.#isOpen) liftLimits(this.#connection, principalId, this.#now());
  }

  /** Identifies this record among those of other gateways. Gateways with the same file have the same one. */
  get recordId(): number {
    const { fact, setFact } = this.#statements;
    const known = fact.get("record")?.["value"];
    if (typeof known === "number") return known;
    setFact.run("record", randomInt(1, 2 ** 47));
    return Number(fact.get("record")?.["value"]);
  }

  /** How far the records of other gateways are written: a number of milliseconds, and a count. */
  get importedUntil(): ImportedUntil {
    const { fact } = this.#statements;
    return {
      ms: Number(fact.get("imported ms")?.["value"] ?? 0),
      count: Number(fact.get("imported count")?.["value"] ?? 0),
    };
  }

  /**
   * Writes records of another gateway, once: the place up to which they go is written with them. `later`: that failed, or another
   * process with the same file has written what follows `from`. `damaged`: they are no records that can be written.
   */
  import(batches: readonly UsageBatch[], from: ImportedUntil, until: ImportedUntil): "written" | "later" | "damaged" {
    if (!this.#isOpen) return "later";
    try {
      return inTransaction(this.#connection, "BEGIN IMMEDIATE", () => {
        const { ms, count } = this.importedUntil;
        if (ms !== from.ms || count !== from.count) return "later";
        for (const batch of batches) this.#import(batch);
        this.#statements.replaceFact.run("imported ms", until.ms);
        this.#statements.replaceFact.run("imported count", until.count);
        return "written";
      });
    } catch (error) {
      if (isDamage(error)) return "damaged";
      this.#lose(0, messageOf(error));
      return "later";
    }
  }

  #import(batch: UsageBatch): void {
    for (const [principalId, ms] of batch.lifted ?? []) {
      if (ms > this.#spentRows.liftedAt(principalId)) writeLift(this.#connection, principalId, ms);
    }
    this.#write(batch);
  }

  /** Writes what waits. Returns false if that failed; it is tried again. */
  flush(): boolean {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isOpen || this.#waiting.count === 0) return true;
    this.#flushedAt = performance.now();
    try {
      inTransaction(this.#connection, "BEGIN IMMEDIATE", () => {
        this.#write(this.#waiting.batch);
        if (this.#unsavedLoss > 0) this.#statements.addFact.run("lost", this.#unsavedLoss);
        this.#pruner.prune();
      });
    } catch (error) {
      this.#keep(error);
      return false;
    }
    this.#waiting = new WaitingRecords();
    this.#unsavedLoss = 0;
    return true;
  }

  close(): void {
    if (!this.#isOpen) return;
    if (!this.flush()) this.#lose(this.#waiting.count, "the gateway stopped");
    clearTimeout(this.#timer);
    this.#isOpen = false;
    this.#connection.close();
  }

  #write({ requests, corrections, runs, calls }: UsageBatch): void {
    for (const record of requests) this.#requestRows.insert(record);
    this.#spentRows.add(requests.map((record) => this.#spentBy(record, spendingOf(record))));
    const corrected = corrections.filter((correction) => this.#requestRows.correct(correction));
    this.#spentRows.add(
      corrected.map((correction) => this.#spentBy(correction.record, addCorrection(NOTHING, correction))),
      0,
    );
    for (const run of runs) this.#runRows.put(run);
    for (const call of calls) this.#callRows.put(call);
  }

  #wait(): void {
    if (!this.#isOpen || this.#timer) return;
    const dueMs = Math.max(GATHER_MS, this.#flushedAt + FLUSH_MS - performance.now());
    this.#timer = setTimeout(() => this.flush(), dueMs).unref();
  }

  #spentBy({ principalId, startedAt }: RequestRecord, { tokens, dollars }: Spending): Spent {
    return { principalId, hour: this.#hourOf(startedAt), startedAt, tokens, dollars };
  }

  #hourOf(startedAt: number): number {
    return Math.floor(this.#clock.timeOf(startedAt) / HOUR_MS);
  }

  #addWaiting(
    principalId: string,
    written: object | undefined,
    isCounted: (record: RequestRecord) => boolean,
  ): Spending {
    let liftedAt: number | undefined;
    return this.#waiting.addTo({ ...NOTHING, ...written }, (record) => {
      if (record.principalId !== principalId || !isCounted(record)) return false;
      liftedAt ??= this.liftedAt(principalId);
      return record.startedAt >= liftedAt;
    });
  }

  /** Keeps a batch that could not be written for the next try. */
  #keep(error: unknown): void {
    this.#lose(this.#waiting.dropBeyond(MAX_PENDING), messageOf(error));
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
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function prepare(connection: DatabaseSync) {
  return {
    addFact: connection.prepare(
      "INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
    ),
    fact: connection.prepare("SELECT value FROM fact WHERE name = ?"),
    setFact: connection.prepare("INSERT OR IGNORE INTO fact VALUES (?, ?)"),
    replaceFact: connection.prepare("INSERT OR REPLACE INTO fact VALUES (?, ?)"),
  };
}
