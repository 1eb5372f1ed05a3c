/**
 * One thing that happened to a tool call. A call is asked once, then either answered or lost; a follow-up that finds
 * its run gone is replayed. There are no arguments and no results in it: it is made to be logged and counted.
 */
export interface CallEntry {
  readonly type: "asked" | "answered" | "lost" | "replayed";
  readonly callId: string;
  readonly tool: string;
  readonly principalId: string;
  /** Of the request in which it happened; where none did it, of the one that was told of the call. */
  readonly requestId: string;
  /** Why it was lost, or had to be replayed. */
  readonly reason?: LossReason;
  /** From being asked to being answered or lost. */
  readonly waitedMs?: number;
}

export type LossReason =
  /** Nobody came in time. */
  | "expired"
  /** Others needed the room. */
  | "evicted"
  /** The client was gone before it had heard of the calls. */
  | "unheard"
  /** The follow-up tells another history. */
  | "edited"
  /** It is for another model, or has other instructions. */
  | "redirected"
  /** It offers tools that the run was never told of, such as those that a search of the client's has found, or forbids some. */
  | "retooled"
  /** It asks something new right after the results. */
  | "steered"
  /** It has not exactly the results that were asked for. */
  | "incomplete"
  /** The upstream ended while it waited. */
  | "died"
  /** It took the results and failed before it said anything. */
  | "stalled"
  /** Its results were brought before. */
  | "repeated"
  /** The gateway stops. */
  | "closed"
  /** Nothing is known of it: made elsewhere, before a restart, or for somebody else. */
  | "unknown";

/** Told of each entry as it happens. It must not throw. */
export type CallLog = (entry: CallEntry) => void;

/** One thing that happened to a call of the hub's. There are no arguments and no results in it. */
export interface HubCallEntry {
  readonly type: "asked" | "started" | "finished";
  readonly callId: string;
  /** As the model called it. */
  readonly tool: string;
  /** Where it runs, if that is known. */
  readonly server?: string;
  readonly serverTool?: string;
  readonly principalId: string;
  readonly requestId: string;
  /** `refused`: the call was not made, since the model went in circles or there is no such tool. */
  readonly outcome?: "ok" | "error" | "canceled" | "refused";
  readonly ms?: number;
  /** Of the result. */
  readonly bytes?: number;
}

/** Told of each entry as it happens. It must not throw. */
export type HubCallLog = (entry: HubCallEntry) => void;
