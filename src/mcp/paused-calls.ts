import { randomBytes } from "node:crypto";
import type { Elicit, Elicitation, ElicitationAnswer } from "../core/hub/tool-hub.ts";

/** What became of a call for now: its result, or a question that has to be answered before it goes on. */
export type CallStep<T> =
  | { readonly type: "done"; readonly result: T }
  | { readonly type: "asks"; readonly question: Elicitation; readonly ticket: string };

interface PausedCall<T> {
  readonly owner: string;
  readonly abort: AbortController;
  step(): Promise<CallStep<T>>;
  answer(given: ElicitationAnswer): void;
}

/** Calls that wait for an answer at the same time, for one owner. */
const MAX_PAUSED = 64;

/**
 * Calls of tools that ask their user something, for a protocol in which the client gets the question as the result of its request
 * and brings the answer with another one. A call waits so long for that, and for its owner alone.
 */
export class PausedCalls<T> {
  readonly #waitMs: number;
  readonly #paused = new Map<string, { readonly call: PausedCall<T>; readonly timer: NodeJS.Timeout }>();

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Begins a call. The signal is of the request: it ends the call only while the request waits for it. */
  begin(
    owner: string,
    work: (elicit: Elicit, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<CallStep<T>> {
    const abort = new AbortController();
    let asked = Promise.withResolvers<Elicitation>();
    let answered = Promise.withResolvers<ElicitationAnswer>();
    const elicit: Elicit = (question) => {
      answered = Promise.withResolvers();
      asked.resolve(question);
      return answered.promise;
    };
    const result = work(elicit, abort.signal);
    result.catch(() => {});
    const call: PausedCall<T> = {
      owner,
      abort,
      answer: (given) => answered.resolve(given),
      step: () =>
        Promise.race([
          result.then((value): CallStep<T> => ({ type: "done", result: value })),
          asked.promise.then((question): CallStep<T> => {
            asked = Promise.withResolvers();
            return { type: "asks", question, ticket: this.#pause(call) };
          }),
        ]),
    };
    return this.#follow(call, signal);
  }

  /** Goes on with a call; undefined if there is none under this ticket any more, or it is another owner's. */
  resume(
    owner: string,
    ticket: string,
    given: ElicitationAnswer,
    signal: AbortSignal,
  ): Promise<CallStep<T>> | undefined {
    const found = this.#paused.get(ticket);
    if (found?.call.owner !== owner) return undefined;
    clearTimeout(found.timer);
    this.#paused.delete(ticket);
    const following = this.#follow(found.call, signal);
    found.call.answer(given);
    return following;
  }

  async #follow(call: PausedCall<T>, signal: AbortSignal): Promise<CallStep<T>> {
    const giveUp = () => call.abort.abort(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await call.step();
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  #pause(call: PausedCall<T>): string {
    const ticket = randomBytes(24).toString("base64url");
    const own = [...this.#paused].filter(([, { call: other }]) => other.owner === call.owner);
    const [oldest] = own;
    if (own.length >= MAX_PAUSED && oldest) this.#expire(oldest[0]);
    this.#paused.set(ticket, { call, timer: setTimeout(() => this.#expire(ticket), this.#waitMs).unref() });
    return ticket;
  }

  /** Nobody has answered: the tool is told so, and nobody waits for what it makes of that. */
  #expire(ticket: string): void {
    const found = this.#paused.get(ticket);
    if (!found) return;
    clearTimeout(found.timer);
    this.#paused.delete(ticket);
    found.call.answer({ action: "cancel" });
    found.call.abort.abort();
  }
}
