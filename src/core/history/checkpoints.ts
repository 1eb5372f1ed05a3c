/**
 * What an upstream gave us to continue a conversation by, found again by the history it stands for. Bytes are the
 * driver's own; nobody else reads them.
 */
export interface CheckpointStore {
  /** The checkpoint after exactly this history, for this principal; undefined if there is none (any more). */
  find(principalId: string, historyKey: string): Checkpoint | undefined;
  /** Replaces nothing: one history has one checkpoint, the last one put there. Its blobs are kept with it. */
  put(principalId: string, historyKey: string, checkpoint: Checkpoint): void;
}

export interface Checkpoint {
  /** The upstream's id of the conversation, stable over its turns. */
  readonly conversationId: string;
  readonly state: Uint8Array;
  /** Every blob that the state can reach, by the hex of its id. Content-addressed, so shared where it is the same. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}
