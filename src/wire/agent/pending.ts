import { awaitedLater } from "../../core/ignored-failures.ts";
import { within } from "../../core/within.ts";
/** Open requests of one kind. Ids count from 0 and are not reused. */
export class Pending<A> {
  #next = 0;
  readonly #open = new Map<number, PromiseWithResolvers<A>>();

  /** Opens a request. On timeout, `onTimeout` returns the assumed reply, or throws. */
  ask(
    timeoutMs: number | undefined,
    onTimeout: (id: number) => A,
  ): { readonly id: number; readonly reply: Promise<A> } {
    const id = this.#next++;
    const question = Promise.withResolvers<A>();
    this.#open.set(id, question);
    const onLate = () => {
      this.#open.delete(id);
      return onTimeout(id);
    };
    const reply = timeoutMs === undefined ? question.promise : within(question.promise, timeoutMs, onLate);
    return { id, reply: awaitedLater(reply) };
  }

  stateOf(id: number): "pending" | "already answered" | "never asked" {
    if (this.#open.has(id)) return "pending";
    return id < this.#next ? "already answered" : "never asked";
  }

  settle(id: number, reply: A): void {
    this.#open.get(id)?.resolve(reply);
    this.#open.delete(id);
  }

  rejectAll(reason: Error): void {
    for (const { reject } of this.#open.values()) reject(reason);
    this.#open.clear();
  }
}
