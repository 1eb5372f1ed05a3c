import type { RequestRecord, UsageSink } from "./records.ts";

/** Keeps the last requests that are over, in memory, for views of what happens now. */
export class RecentRequests implements UsageSink {
  readonly #max: number;
  #records: readonly RequestRecord[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Newest first. */
  get list(): readonly RequestRecord[] {
    return this.#records;
  }

  request(record: RequestRecord): void {
    // Strangers without a key are not shown.
    if (record.principalId !== "") this.#records = [record, ...this.#records].slice(0, this.#max);
  }

  toolCall(): void {}
}
