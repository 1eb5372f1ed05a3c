import { type Awaitable, after } from "../../../core/awaitable.ts";
import type { ResponseStore, StoredItem, StoredResponse } from "../../../core/history/stored-responses.ts";
import type { RecentAnswers } from "./recent-answers.ts";

/** Longer conversations are not remembered; the client sends them again. */
const MAX_LENGTH = 32 * 1024 * 1024;

interface Remembered {
  readonly principalId: string;
  readonly id: string;
  /** The conversation up to and including the answer. */
  readonly items: readonly StoredItem[];
}

/**
 * The stored answers, and the most recent one of a connection, which the client may refer to even if it is not stored.
 * So it sends only what is new, as long as it stays connected.
 */
export class RecentAnswer implements ResponseStore {
  readonly #store: ResponseStore;
  readonly #all: RecentAnswers;
  #recent: Remembered | undefined;
  /** The conversation that the request under way continues. */
  #continued: Remembered | undefined;
  #isContinuing = false;

  constructor(store: ResponseStore, all: RecentAnswers) {
    this.#store = store;
    this.#all = all;
  }

  /** Called before each request. As the service does, forgets an answer whose continuation has failed. */
  begin(isContinuing: boolean): void {
    if (this.#isContinuing) this.forget();
    this.#isContinuing = isContinuing;
  }

  /** Remembers an answer with its conversation, in place of the one before. */
  keep(principalId: string, { id, previousId, input, output }: StoredResponse): void {
    const before = previousId === undefined ? [] : this.#itemsUpTo(principalId, previousId);
    const items = [...before, ...input, ...output];
    const length = items.reduce((sum, { json }) => sum + json.length, 0);
    this.forget();
    this.#isContinuing = false;
    if (length > MAX_LENGTH) return;
    this.#recent = { principalId, id, items };
    this.#all.keep(this, { principalId, length, forget: () => this.forget() });
  }

  forget(): void {
    this.#recent = undefined;
    this.#continued = undefined;
    this.#all.release(this);
  }

  put(principalId: string, response: StoredResponse): Awaitable<void> {
    return this.#store.put(principalId, response);
  }

  find(principalId: string, id: string): Awaitable<StoredResponse | undefined> {
    return this.#store.find(principalId, id);
  }

  conversation(principalId: string, id: string): Awaitable<readonly string[] | undefined> {
    const recent = this.#recentOf(principalId);
    if (recent?.id === id) return recent.items.map(({ json }) => json);
    return after(this.#store.conversation(principalId, id), (kept) => this.#goOn(principalId, id, kept));
  }

  findItem(principalId: string, itemId: string): Awaitable<string | undefined> {
    const recent = this.#recentOf(principalId)?.items.findLast(({ id }) => id === itemId);
    return recent?.json ?? this.#store.findItem(principalId, itemId);
  }

  delete(principalId: string, id: string): Awaitable<boolean> {
    return this.#store.delete(principalId, id);
  }

  #recentOf(principalId: string): Remembered | undefined {
    return this.#recent?.principalId === principalId ? this.#recent : undefined;
  }

  #itemsUpTo(principalId: string, id: string): readonly StoredItem[] {
    const known = [this.#recent, this.#continued].find((one) => one?.principalId === principalId && one.id === id);
    return known?.items ?? [];
  }

  /** Remembers the conversation that a request continues, for the end of its answer. */
  #goOn(principalId: string, id: string, kept: readonly string[] | undefined): readonly string[] | undefined {
    this.#continued = kept && { principalId, id, items: kept.map((json) => ({ id: idIn(json), json })) };
    return kept;
  }
}

function idIn(json: string): string {
  const { id } = JSON.parse(json) as { readonly id?: unknown };
  return typeof id === "string" ? id : "";
}
