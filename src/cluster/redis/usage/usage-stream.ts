import { randomUUID } from "node:crypto";
import type { RequestRecord, RunRecord, ToolCallRecord, UsageSink } from "../../../usage/record/records.ts";
import type { UsageStore } from "../../../usage/store/usage-store.ts";
import { type UsageBatch, WaitingRecords } from "../../../usage/store/waiting-records.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import type { WriteBehind } from "../write-behind.ts";

export interface UsageStreamOptions {
  readonly link: RedisLink;
  readonly writes: WriteBehind;
  /** The record of this gateway, which several gateways of one host may share. */
  readonly store: Pick<UsageStore, "recordId" | "importedUntil" | "import" | "lifted">;
  /** How often records are sent, and those of others are looked for. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 1000;

/** Records that are sent at once, at the latest. */
const MAX_BATCH = 500;

/** Batches that Redis keeps for gateways that are away, about. */
const MAX_STREAM = 20_000;

/** How long it is known that a batch was sent. */
const SENT_MS = 3_600_000;
const TTL_MS = 7 * 86_400_000;

/** Batches that are read at once. */
const READ_COUNT = 50;

/** KEYS: the stream, the mark that the batch was sent. ARGV: how long both live, how many are kept, the record, the batch. */
const APPEND = new RedisScript(`
if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'record', ARGV[4], 'batch', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);

/**
 * Sends the usage records of this gateway to those with another file, and writes theirs to its own, so that every dashboard
 * shows all. A record is written where it was made at once, and elsewhere once.
 */
export class UsageStream implements UsageSink {
  readonly #options: UsageStreamOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #holder = randomUUID();
  /** The id of the store's file. */
  readonly #record: string;
  /** When limits were lifted, as far as the others were told. */
  readonly #lifted = new Map<string, number>();
  #waiting = new WaitingRecords();
  #sent = 0;
  #work: Promise<void> | undefined;

  constructor(options: UsageStreamOptions) {
    this.#options = options;
    this.#record = String(options.store.recordId);
    const tick = () => {
      this.flush();
      void this.read();
    };
    this.#timer = setInterval(tick, options.intervalMs ?? INTERVAL_MS).unref();
  }

  request(record: RequestRecord): void {
    if (record.principalId !== "") this.#waiting.addRequest(record);
    this.#added();
  }

  toolCall(record: ToolCallRecord): void {
    this.#waiting.addCall(record);
    this.#added();
  }

  run(record: RunRecord): void {
    if (record.principalId !== "") this.#waiting.addRun(record);
    this.#added();
  }

  corrected(record: RequestRecord, before: RequestRecord): void {
    this.#waiting.correct({ record, before });
    this.#added();
  }

  /** Sends what was recorded since the last time. */
  flush(): void {
    const { link, writes, store } = this.#options;
    const lifted = store.lifted().filter(([principalId, ms]) => ms > (this.#lifted.get(principalId) ?? 0));
    if (this.#waiting.count === 0 && lifted.length === 0) return;
    for (const [principalId, ms] of lifted) this.#lifted.set(principalId, ms);
    const json = JSON.stringify({ ...this.#waiting.batch, lifted });
    this.#waiting = new WaitingRecords();
    this.#sent++;
    const mark = link.key("usage-sent", this.#holder, String(this.#sent));
    const record = this.#record;
    void writes.add({
      bytes: json.length,
      write: (client) =>
        APPEND.run(client, [this.#stream, mark], [String(TTL_MS), String(SENT_MS), String(MAX_STREAM), record, json]),
    });
  }

  /** Writes the records of other gateways, as far as there are new ones. Never rejects. */
  read(): Promise<void> {
    this.#work ??= this.#read()
      .catch(() => {})
      .finally(() => {
        this.#work = undefined;
      });
    return this.#work;
  }

  /** Sends what is left, and resolves when it is sent or Redis is away. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.flush();
    await Promise.all([this.#work, this.#options.writes.settled()]);
  }

  get #stream(): string {
    return this.#options.link.key("usage");
  }

  #added(): void {
    if (this.#waiting.count >= MAX_BATCH) this.flush();
  }

  async #read(): Promise<void> {
    const { link, store } = this.#options;
    for (;;) {
      const from = store.importedUntil;
      const reply = await link.ask(
        (client) => client.xRead([{ key: this.#stream, id: `${from.ms}-${from.count}` }], { COUNT: READ_COUNT }),
        () => null,
      );
      const entries = (reply as readonly Stream[] | null)?.[0]?.messages ?? [];
      const last = entries.at(-1);
      if (!last) return;
      const batches = entries.flatMap(({ message }) => this.#readBatch(message) ?? []);
      const [ms = 0, count = 0] = last.id.split("-").map(Number);
      const outcome = store.import(batches, from, { ms, count });
      if (outcome === "damaged") {
        link.reportDamaged("usage");
        store.import([], from, { ms, count });
      }
      if (outcome === "later" || entries.length < READ_COUNT) return;
    }
  }

  /** Returns undefined for records that are in this file already, and for what are none. */
  #readBatch({ record, batch = "" }: Entry): UsageBatch | undefined {
    if (record === this.#record) return undefined;
    const parsed = parseBatch(batch);
    if (!parsed) this.#options.link.reportDamaged("usage");
    return parsed;
  }
}

interface Stream {
  readonly messages: readonly { readonly id: string; readonly message: Entry }[];
}

interface Entry {
  readonly record?: string;
  readonly batch?: string;
}

function parseBatch(json: string): UsageBatch | undefined {
  try {
    const batch = JSON.parse(json) as Readonly<Record<string, unknown>>;
    const isBatch = ["requests", "corrections", "runs", "calls", "lifted"].every((name) => Array.isArray(batch[name]));
    return isBatch ? (batch as unknown as UsageBatch) : undefined;
  } catch {
    return undefined;
  }
}
