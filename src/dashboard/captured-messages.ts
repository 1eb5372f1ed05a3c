/** The types of captured messages in the API of the dashboard. */

export interface CapturedReply {
  /** Null: the gateway records nothing. */
  readonly file: string | null;
  /** The oldest first. */
  readonly calls: readonly CapturedCall[];
  /** True if there are more than the list has. */
  readonly isCut: boolean;
}

export interface CapturedCall {
  readonly call: number;
  readonly at: number;
  readonly wire: "client" | "upstream";
  /** The id of its turn; of a call to Cursor null. */
  readonly requestId: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  /** Null while it is under way. */
  readonly durationMs: number | null;
  readonly outcome: string | null;
  readonly messages: number;
}

/** A part of the messages of one call, in their order. */
export interface CapturedMessagesReply {
  readonly messages: readonly CapturedMessage[];
  /** Where the next part begins; null at the end. */
  readonly next: number | null;
}

export interface CapturedMessage {
  /** Milliseconds since the call began. */
  readonly ms: number;
  readonly direction: "sent" | "received";
  readonly kind: string;
  readonly bytes: number;
  readonly value: unknown;
  /** Fields that our schema does not have. */
  readonly unknown: unknown;
  /** True if long texts in it were cut. */
  readonly isCut: boolean;
}

/** What the capture holds beyond our schema of Cursor's protocol. */
export interface DriftReply {
  /** When it was read. */
  readonly at: number;
  readonly calls: number;
  readonly messages: number;
  /** Conflicts first. */
  readonly differences: readonly DriftRow[];
  /** How many there are, listed or not. */
  readonly found: number;
  readonly conflicts: number;
  /** True if only the beginning of the capture was read. */
  readonly isCut: boolean;
}

interface DriftRow {
  /** `field`, `enum value`, `rpc`, `message` or `header`. */
  readonly what: string;
  readonly owner: string;
  readonly name: string;
  readonly count: number;
  readonly example: string;
  /** True if the same bytes mean something else to us. */
  readonly isConflict: boolean;
}
