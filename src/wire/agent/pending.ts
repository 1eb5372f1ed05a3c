/** Open requests of one kind. Ids count from 0 and are not reused. */
export class Pending<A> {
  #next = 0;
  readonly #open = new Map<
    number,
    { resolve: (reply: A) => void; reject: (reason: Error) => void; timer?: NodeJS.Timeout }
  >();

  /** Opens a request. On timeout, `onTimeout` returns the assumed reply, or throws. */
  ask(timeoutMs?: number, onTimeout?: (id: number) => A): { readonly id: number; readonly reply: Promise<A> } {
    const id = this.#next++;
    const reply = new Promise<A>((resolve, reject) => {
      if (timeoutMs === undefined || !onTimeout) {
        this.#open.set(id, { resolve, reject });
        return;
      }
      const timer = setTimeout(() => {
        this.#open.delete(id);
        try {
          resolve(onTimeout(id));
        } catch (error) {
          reject(error as Error);
        }
      }, timeoutMs);
      this.#open.set(id, { resolve, reject, timer });
    });
    // Nothing may await this any more when a run is torn down.
    reply.catch(() => {});
    return { id, reply };
  }

  stateOf(id: number): "pending" | "already answered" | "never asked" {
    if (this.#open.has(id)) return "pending";
    return id < this.#next ? "already answered" : "never asked";
  }

  settle(id: number, reply: A): void {
    const question = this.#open.get(id);
    clearTimeout(question?.timer);
    this.#open.delete(id);
    question?.resolve(reply);
  }

  rejectAll(reason: Error): void {
    for (const { reject, timer } of this.#open.values()) {
      clearTimeout(timer);
      reject(reason);
    }
    this.#open.clear();
  }
}
