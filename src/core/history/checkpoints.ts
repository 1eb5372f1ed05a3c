import type { Awaitable } from "../awaitable.ts";

/**
 * Stores the states from which an upstream continues conversations, by the key of the history that they stand for. Only the
 * driver reads their bytes.
 */
export interface CheckpointStore {
  /** Returns the principal's checkpoint after exactly this history; undefined if there is none, or it was deleted. */
  find(principalId: string, historyKey: string): Awaitable<Checkpoint | undefined>;
  /** Stores a checkpoint with its blobs. A history has one checkpoint: the last one that was put. */
  put(principalId: string, historyKey: string, checkpoint: Checkpoint): void;
  forget(principalId: string, historyKey: string): void;
}

export interface Checkpoint {
  /** The upstream's id of the conversation, stable over its turns. */
  readonly conversationId: string;
  readonly state: Uint8Array;
  /** All blobs that the state refers to, by their ids in hex. They are content-addressed, so equal blobs are stored once. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}
