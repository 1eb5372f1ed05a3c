import type { AccessTokens } from "../../core/access/access.ts";
import { ExcursorError } from "../../core/errors.ts";
import { type AccountCall, loadPeriodUsage, loadUsageEvents } from "../../credentials/account-usage.ts";
import type { Log } from "../../observe/log.ts";
import type { Settlement } from "../../usage/store/settle-runs.ts";
import type { UsageStore } from "../../usage/store/usage-store.ts";

export interface ChargeFollowerOptions {
  readonly access: AccessTokens;
  readonly call: AccountCall;
  readonly store: Pick<UsageStore, "setCharges" | "latestCharge" | "settleRuns">;
  readonly costOf: Settlement["costOf"];
  readonly log: Pick<Log, "debug" | "warn">;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An account is asked about at most this often. */
const EVERY_MS = 5 * 60_000;
/** How soon after its first use an account is asked about. Cursor does not know its charges at once. */
const FIRST_MS = 30_000;
/** Charges change for a while after the call. An estimate is replaced by the charges after that. */
const SETTLED_MS = 30 * 60_000;
/** An account is followed so long after its last use. */
const FOLLOWED_MS = 2 * SETTLED_MS;
const DAY_MS = 86_400_000;
const MAX_ACCOUNTS = 100;

/** An account as keys name it; undefined is the gateway's default account. */
type AccountName = string | undefined;

interface Followed {
  usedAt: number;
  askedAt: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Asks Cursor in the background what the accounts in use are charged, and keeps the answers in the usage record. A failure
 * changes nothing: the next round asks again. Tokens that callers send are never used for that.
 */
export class ChargeFollower {
  readonly #options: ChargeFollowerOptions;
  readonly #now: () => number;
  readonly #accounts = new Map<AccountName, Followed>();
  /** When each account was asked about, by its own name: several names may lead to one. */
  readonly #asked = new Map<string, number>();
  readonly #abort = new AbortController();
  #hasWarned = false;

  constructor(options: ChargeFollowerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Returns access to the same accounts, by which the follower learns which of them are in use. */
  watch(access: AccessTokens): AccessTokens {
    return {
      get: (account) => {
        this.used(account);
        return access.get(account);
      },
      renew: (account, refused) => access.renew(account, refused),
    };
  }

  used(account: AccountName): void {
    const usedAt = performance.now();
    const known = this.#accounts.get(account);
    if (!known && this.#accounts.size >= MAX_ACCOUNTS) return;
    const followed = known ?? { usedAt, askedAt: undefined, timer: undefined };
    followed.usedAt = usedAt;
    if (!known) this.#accounts.set(account, followed);
    this.#arm(account, followed);
  }

  /** Asks about an account now, unless that was done lately. Never rejects. */
  async ask(account: AccountName): Promise<void> {
    const { access, store, log } = this.#options;
    try {
      const { account: name, token } = await access.get(account);
      const call = { ...this.#options.call, signal: this.#abort.signal };
      const period = await loadPeriodUsage(token, call);
      const askedAt = this.#asked.get(name);
      if (askedAt !== undefined && performance.now() - askedAt < EVERY_MS) return;
      this.#asked.set(name, performance.now());
      const latest = store.latestCharge(name);
      const fromMs = Math.max(0, latest === undefined ? period.startMs : latest - DAY_MS);
      // Cursor's clock need not be ours.
      const untilMs = Math.max(this.#now(), latest ?? 0) + DAY_MS;
      const { events, isWhole } = await loadUsageEvents(token, { sinceMs: fromMs, untilMs }, call);
      if (isWhole) {
        const isStored = store.setCharges(name, { fromMs, untilMs }, events);
        const settledMs = this.#now() - SETTLED_MS;
        if (isStored) store.settleRuns({ account: name, fromMs, untilMs, settledMs, costOf: this.#options.costOf });
      } else {
        const times = events.map(({ at }) => at);
        const [first, last] = times.reduce(
          ([min, max], at) => [Math.min(min, at), Math.max(max, at)],
          [untilMs, fromMs],
        );
        store.setCharges(name, { fromMs: first + 1, untilMs: last - 1 }, events);
        this.#warn(events.length);
      }
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      const { code, message } = ExcursorError.from(error);
      log.debug({ code, reason: message }, "Cursor's charges are not known");
    }
  }

  close(): void {
    this.#abort.abort();
    for (const { timer } of this.#accounts.values()) clearTimeout(timer);
    this.#accounts.clear();
  }

  #arm(account: AccountName, followed: Followed): void {
    if (followed.timer || this.#abort.signal.aborted) return;
    const { askedAt } = followed;
    const waitMs = askedAt === undefined ? FIRST_MS : Math.max(FIRST_MS, askedAt + EVERY_MS - performance.now());
    followed.timer = setTimeout(() => {
      followed.askedAt = performance.now();
      void this.ask(account).finally(() => {
        followed.timer = undefined;
        if (performance.now() - followed.usedAt < FOLLOWED_MS) this.#arm(account, followed);
      });
    }, waitMs).unref();
  }

  #warn(count: number): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.warn(
      { code: "charges_incomplete" },
      `Cursor has more than ${count} charges. Some are not shown.`,
    );
  }
}
