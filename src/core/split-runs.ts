/** One message of a client for a run whose answer another gateway of the cluster may be sending. */
export interface SplitUpload {
  readonly requestId: string;
  /** Counts from 0. */
  readonly seqno: bigint;
  readonly payload: Uint8Array;
  /** The `authorization` header that came with it. */
  readonly authorization: string | undefined;
}

/** `passed-on`: the run is not ours, so the gateway that has the message sends it to the backend. */
export type UploadOutcome = "taken" | "passed-on";

/** The gateway that sends the answer of a run, seen by the others. */
export interface RunHome {
  /** Takes a message that reached another gateway. */
  take(upload: SplitUpload): Promise<UploadOutcome>;
  /** Another gateway has found out that a run whose answer is sent here is passed on to the backend. */
  passedOn(requestId: string): void;
  /** Another gateway sends the answer of a run. Called for runs that {@link SplitRuns.find} did not find. */
  moved(requestId: string): void;
}

/** Runs whose requests reach different gateways of a cluster: the home of a run is the one that sends its answer. */
export interface SplitRuns {
  /** Begins to serve the other gateways. */
  serve(home: RunHome): void;
  /** Makes this gateway the home of a run. Returns a function to call at the end of the answer. */
  opened(requestId: string): () => void;
  /** Returns whether another gateway is the home of a run. If no gateway is, `moved` may be called later. */
  find(requestId: string): Promise<boolean>;
  /** As {@link find}, by what this gateway knows already. */
  isElsewhere(requestId: string): boolean;
  /** Sends a message to the run's home. */
  send(upload: SplitUpload): Promise<UploadOutcome>;
  /** Tells the run's home that the run is passed on to the backend. */
  tellPassedOn(requestId: string): void;
}
