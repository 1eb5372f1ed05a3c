import type { RequestRecord, UsageSink } from "./records.ts";

/** Keeps the last requests that are over, in memory, for views of what happens now. */
export class RecentRequests implements UsageSink {
  readonly #max: number;
  /** Oldest first. */
  readonly #records: RequestRecord[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Newest first. */
  get list(): readonly RequestRecord[] {
    return this.#records.toReversed();
  }

  request(record: RequestRecord): void {
    // Strangers without a key are not shown.
    if (record.principalId === "") return;
    this.#records.push(record);
    if (this.#records.length > this.#max) this.#records.shift();
  }

  toolCall(): void {}
}
