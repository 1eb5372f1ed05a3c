/**
 * Answers that are kept, so that a client can refer to them instead of sending them again. Each belongs to whom it was
 * given; for anybody else it does not exist. JSON is text here: whoever keeps it need not understand it.
 */
export interface ResponseStore {
  put(principalId: string, response: StoredResponse): void;
  find(principalId: string, id: string): StoredResponse | undefined;
  /** All items up to and with this answer, from the first one of its conversation on; undefined if one is not there. */
  conversation(principalId: string, id: string): readonly string[] | undefined;
  findItem(principalId: string, itemId: string): string | undefined;
  /** Whether there was one. */
  delete(principalId: string, id: string): boolean;
}

export interface StoredResponse {
  readonly id: string;
  /** The answer that its request went on from. */
  readonly previousId: string | undefined;
  /** The answer without its output. */
  readonly body: string;
  /** What was asked, and what was answered. */
  readonly input: readonly StoredItem[];
  readonly output: readonly StoredItem[];
}

export interface StoredItem {
  readonly id: string;
  readonly json: string;
}
