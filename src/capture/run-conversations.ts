import { BoundedMap } from "../core/bounded-map.ts";

/** Runs whose conversation is remembered. */
const MAX_RUNS = 10_000;

interface Ids {
  readonly conversationId: string | undefined;
  readonly requestId: string | undefined;
}

type Tell = (conversationId: string) => void;

/** Over HTTP/1.1 a run is many calls, and only one of them names the conversation. They share a request id. */
export class RunConversations {
  readonly #runs = new BoundedMap<string, { id?: string; waiting: Tell[] }>(MAX_RUNS);
  readonly #seen = new Set<string>();

  get count(): number {
    return this.#seen.size;
  }

  /** Calls `tell` with the conversation of a call, now or when it is known. */
  join({ conversationId, requestId }: Ids, tell: Tell): void {
    if (conversationId !== undefined) {
      if (this.#seen.size < MAX_RUNS) this.#seen.add(conversationId);
      tell(conversationId);
    }
    if (requestId === undefined) return;
    const run = this.#runs.get(requestId) ?? { waiting: [] };
    this.#runs.set(requestId, run);
    if (conversationId !== undefined) {
      run.id ??= conversationId;
      for (const waiting of run.waiting.splice(0)) waiting(conversationId);
    } else if (run.id !== undefined) tell(run.id);
    else if (run.waiting.length < MAX_RUNS) run.waiting.push(tell);
  }
}
