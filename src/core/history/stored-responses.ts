import type { Awaitable } from "../awaitable.ts";

/**
 * Stored answers, to which a client may refer instead of sending them again. An answer exists only for its own
 * principal. The JSON is stored as text.
 */
export interface ResponseStore {
  /** It is waited for before the client sees the end of the answer. */
  put(principalId: string, response: StoredResponse): Awaitable<void>;
  find(principalId: string, id: string): Awaitable<StoredResponse | undefined>;
  /** Returns all items of the conversation up to and including this answer, or undefined if one is missing. */
  conversation(principalId: string, id: string): Awaitable<readonly string[] | undefined>;
  findItem(principalId: string, itemId: string): Awaitable<string | undefined>;
  /** Returns whether it existed. */
  delete(principalId: string, id: string): Awaitable<boolean>;
}

export interface StoredResponse {
  readonly id: string;
  /** The answer that this one continues. */
  readonly previousId: string | undefined;
  /** The answer without its output. */
  readonly body: string;
  /** The items of the request and of the answer. */
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
}

export interface StoredItem {
  readonly id: string;
  readonly json: string;
}
