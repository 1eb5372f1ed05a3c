/**
 * One event in the life of a tool call of the client. A call is asked once, then it is either answered or lost. If a
 * follow-up finds its run gone, its results are replayed from the transcript. Entries are made to be logged and counted, so
 * they hold neither arguments nor results.
 */
export interface CallEntry {
  readonly type: "asked" | "answered" | "lost" | "replayed";
  readonly callId: string;
  readonly tool: string;
  readonly principalId: string;
  /** The request in which it happened. A call that is lost between requests has the id of the request that was given it. */
  readonly requestId: string;
  /** Why the call was lost or replayed. */
  readonly reason?: LossReason;
  /** The time from asked to answered or lost. */
  readonly waitedMs?: number;
  /** The request in which it was asked, if it is answered in another one. */
  readonly askedIn?: string;
  /** What is known of the result. */
  readonly result?: { readonly isError: boolean; readonly bytes: number };
  /** A request of the upstream's own that a tool of the client serves. */
  readonly isNative?: true;
}

export type LossReason =
  /** The results did not come in time. */
  | "expired"
  /** The run made room for others. */
  | "evicted"
  /** The owner of the gateway cancelled it. */
  | "dropped"
  /** The client disconnected before it got the calls. */
  | "unheard"
  /** The follow-up has another history. */
  | "edited"
  /** The follow-up is for another model, or has other instructions. */
  | "redirected"
  /** The follow-up offers other tools, such as tools that the client has found by a search, or forbids some. */
  | "retooled"
  /** The follow-up has a new user message after the results. */
  | "steered"
  /** The follow-up does not have exactly the results that the run waits for. */
  | "incomplete"
  /** The upstream ended the run while it waited. */
  | "died"
  /** The run took the results and failed before its first event. */
  | "stalled"
  /** The results were submitted before. */
  | "repeated"
  /** The key of the follow-up has reached a limit. */
  | "limited"
  /** The gateway was stopped. */
  | "closed"
  /** The run is not known: it was another process's, or another principal's. */
  | "unknown";

/** Is told of each event as it happens. It must not throw. */
export type CallLog = (entry: CallEntry) => void;

/** One event in the life of a hub call, without arguments and results. */
export interface HubCallEntry {
  readonly type: "asked" | "started" | "finished";
  readonly callId: string;
  /** The name by which the model called it. */
  readonly tool: string;
  /** The MCP server, if the tool belongs to one. */
  readonly server?: string;
  readonly serverTool?: string;
  readonly principalId: string;
  readonly requestId: string;
  /** `refused`: the call was not made, because the model loops or the tool does not exist. */
  readonly outcome?: "ok" | "error" | "canceled" | "refused";
  readonly ms?: number;
  /** The size of the result. */
  readonly bytes?: number;
}

/** Is told of each event as it happens. It must not throw. */
export type HubCallLog = (entry: HubCallEntry) => void;
