/** What all nodes of a cluster count together at the gate. Promises resolve with undefined if they cannot be asked now. */
export interface SharedGate {
  /** Serves a request, which waits for what the nodes share for a short time only, however often it asks. */
  serveRequest<T>(serve: () => T): T;
  /** How many nodes there were when they could be asked last, this one included. */
  readonly nodes: number;
  /** Counts a request of a minute. Resolves with 0, or with the milliseconds until another one is admitted. */
  admit(principalId: string, perMinute: number): Promise<number | undefined>;
  /** Sets how many seats this node has taken, if the others leave room. Resolves with how many the others have taken. */
  take(what: string, principalId: string, ours: number, limit: number): Promise<SeatVerdict | undefined>;
  /** This node has taken so many from now on. */
  set(what: string, principalId: string, ours: number): void;
}

export interface SeatVerdict {
  readonly isTaken: boolean;
  readonly others: number;
}
