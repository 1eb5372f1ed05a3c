import type { Amounts, Claim } from "./shared-spending.ts";

/** What a request has spent, while it is not known whether the cluster has counted it. */
export interface Unsettled {
  readonly id: string;
  readonly principalId: string;
  readonly conversation: string;
  readonly liftedAt: number;
  readonly claims: readonly Pick<Claim, "unit" | "window" | "fromMs">[];
  readonly spent: Amounts;
}

/**
 * What the cluster is still to be told. The usage record has these requests already, so they are left out of what is seeded
 * from it. Processes with the same record see each other's, as of the last write of the record.
 */
export interface UnsettledAmounts {
  put(request: Unsettled): void;
  /** The cluster has counted it. */
  drop(id: string): void;
  /** Returns those of a principal, of all processes. */
  of(principalId: string): readonly Unsettled[];
  /** Returns those of other processes, which may be gone, for this one to settle. */
  left(): readonly Unsettled[];
}
