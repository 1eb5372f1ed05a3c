/** What all nodes of a cluster count together at the gate. Promises resolve with undefined if they cannot be asked now. */
export interface SharedGate {
  /** Counts a request of a minute. Resolves with 0, or with the milliseconds until another one is admitted. */
  admit(principalId: string, perMinute: number): Promise<number | undefined>;
}
