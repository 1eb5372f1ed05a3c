import type { RequestRecord, RunRecord, ToolCallRecord } from "../record/records.ts";
import { addCorrection, addRecord, type Correction, type Spending } from "./spending.ts";

/** Records that are written together. */
export interface UsageBatch {
  readonly requests: readonly RequestRecord[];
  readonly corrections: readonly Correction[];
  readonly runs: readonly RunRecord[];
  readonly calls: readonly ToolCallRecord[];
  /** When limits of principals were lifted, in milliseconds since the epoch. */
  readonly lifted?: readonly (readonly [principalId: string, ms: number])[];
}

/** Records that are not written yet. */
export class WaitingRecords {
  readonly #requests: RequestRecord[] = [];
  readonly #calls: ToolCallRecord[] = [];
  /** By id, so that only the last state of a run is written. */
  readonly #runs = new Map<string, RunRecord>();
  readonly #corrections: Correction[] = [];

  get count(): number {
    return this.#requests.length + this.#calls.length + this.#runs.size + this.#corrections.length;
  }

  get batch(): UsageBatch {
    const [requests, corrections, calls] = [this.#requests, this.#corrections, this.#calls];
    return { requests, corrections, runs: [...this.#runs.values()], calls };
  }

  addRequest(record: RequestRecord): void {
    this.#requests.push(record);
  }

  addCall(record: ToolCallRecord): void {
    this.#calls.push(record);
  }

  addRun(record: RunRecord): void {
    this.#runs.set(record.id, record);
  }

  /** Changes a request that waits; otherwise the correction itself waits. */
  correct(correction: Correction): void {
    const waiting = this.#requests.indexOf(correction.before);
    if (waiting >= 0) this.#requests[waiting] = correction.record;
    else if (correction.record.principalId !== "") this.#corrections.push(correction);
  }

  /** Adds the requests and corrections that are counted. */
  addTo(sum: Spending, isCounted: (record: RequestRecord) => boolean): Spending {
    return this.#corrections
      .filter(({ record }) => isCounted(record))
      .reduce(addCorrection, this.#requests.filter(isCounted).reduce(addRecord, sum));
  }

  /** Drops the oldest records beyond `max`. Returns how many. */
  dropBeyond(max: number): number {
    const surplus = Math.max(0, this.count - max);
    let left = surplus;
    for (const waiting of [this.#calls, this.#requests, this.#corrections]) left -= waiting.splice(0, left).length;
    for (const id of [...this.#runs.keys()].slice(0, left)) this.#runs.delete(id);
    return surplus;
  }
}
