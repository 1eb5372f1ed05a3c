import type { DatabaseSync } from "node:sqlite";
import { LIFTED } from "../limits/lift-limits.ts";
import type { Spending } from "./spending.ts";

/** When the limits of the principal of a statement were lifted last; requests that began before do not count. */
export const LIFTED_AT = `coalesce((SELECT value FROM fact WHERE name = '${LIFTED}' || ?1), 0)`;

/** What one request has used. */
export interface Spent extends Pick<Spending, "tokens" | "dollars"> {
  readonly principalId: string;
  /** Hours since the epoch. */
  readonly hour: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** The sums of what principals have used, by hour. Limits read them. */
export class SpentRows {
  readonly #add: ReturnType<DatabaseSync["prepare"]>;
  readonly #sum: ReturnType<DatabaseSync["prepare"]>;
  readonly #liftedAt: ReturnType<DatabaseSync["prepare"]>;
  readonly #lifted: ReturnType<DatabaseSync["prepare"]>;

  constructor(connection: DatabaseSync) {
    this.#add = connection.prepare(
      `INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT (principal, hour) DO UPDATE SET
        requests = requests + excluded.requests, tokens = tokens + excluded.tokens, micros = micros + excluded.micros`,
    );
    this.#sum = connection.prepare(
      `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(micros), 0) AS dollars
        FROM spent WHERE principal = ? AND hour >= ? AND hour < ?`,
    );
    this.#liftedAt = connection.prepare(`SELECT ${LIFTED_AT} AS ms`);
    this.#lifted = connection.prepare(`SELECT name, value FROM fact WHERE name GLOB '${LIFTED}*'`);
  }

  /** Adds what requests have used, in one row for each principal and hour. `requests` is 0 for corrections. */
  add(all: Iterable<Spent>, requests: 0 | 1 = 1): void {
    const sums = new Map<string, [principalId: string, hour: number, number, number, number]>();
    const lifted = new Map<string, number>();
    for (const { principalId, hour, startedAt, tokens, dollars } of all) {
      const liftedAt = lifted.get(principalId) ?? this.liftedAt(principalId);
      lifted.set(principalId, liftedAt);
      if (startedAt < liftedAt) continue;
      const key = `${hour} ${principalId}`;
      const sum = sums.get(key);
      if (sum) {
        sum[2] += requests;
        sum[3] += tokens;
        sum[4] += dollars;
      } else sums.set(key, [principalId, hour, requests, tokens, dollars]);
    }
    for (const sum of sums.values()) this.#add.run(...sum);
  }

  /** Returns the sums of the hours from `fromHour` on, before `untilHour`. */
  sum(principalId: string, fromHour: number, untilHour: number): object | undefined {
    return this.#sum.get(principalId, fromHour, untilHour);
  }

  /** Returns when the limits of each principal were lifted last. */
  lifted(): readonly (readonly [principalId: string, ms: number])[] {
    return this.#lifted.all().map(({ name, value }) => [String(name).slice(LIFTED.length), Number(value)] as const);
  }

  /** When the limits of a principal were lifted last, in milliseconds since the epoch; 0 if they never were. */
  liftedAt(principalId: string): number {
    return Number(this.#liftedAt.get(principalId)?.["ms"]);
  }
}
