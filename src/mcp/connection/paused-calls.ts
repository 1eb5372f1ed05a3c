import { randomBytes } from "node:crypto";
import type { Elicit, Elicitation, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import { awaitedLater } from "../../core/ignored-failures.ts";

/** The state of a call: its result, or a question that must be answered first. */
export type CallStep<T> =
  | { readonly type: "done"; readonly result: T }
  | { readonly type: "asks"; readonly question: Elicitation; readonly ticket: string };

interface PausedCall<T> {
  readonly owner: string;
  readonly abort: AbortController;
  step(): Promise<CallStep<T>>;
  answer(given: ElicitationAnswer): void;
}

/** How many calls of one owner may wait for an answer at the same time. */
const MAX_PAUSED = 64;

/**
 * Tool calls that ask their user something, for a protocol without requests to the client: the question is the result of
 * one request, and the answer comes with the next. A paused call waits for a limited time, and only its owner can resume it.
 */
export class PausedCalls<T> {
  readonly #waitMs: number;
  readonly #paused = new Map<string, { readonly call: PausedCall<T>; readonly timer: NodeJS.Timeout }>();

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Starts a call. The signal is that of the request, and aborts the call only while the request waits for it. */
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
    const result = awaitedLater(work(elicit, abort.signal));
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

  /** Resumes a call. Returns undefined if there is no such ticket, or if it belongs to another owner. */
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

  /** Cancels a question that was not answered. The tool is told so, and its result is dropped. */
  #expire(ticket: string): void {
    const found = this.#paused.get(ticket);
    if (!found) return;
    clearTimeout(found.timer);
    this.#paused.delete(ticket);
    found.call.answer({ action: "cancel" });
    found.call.abort.abort();
  }
}
