import { type Awaitable, after } from "../awaitable.ts";
import { ExcursorError } from "../errors.ts";
import { awaitedLater } from "../ignored-failures.ts";
import type { AssistantMessage, ToolCallPart, ToolMessage } from "../turn.ts";
import { type AnswerEnd, type AnswerPlace, type HubAnswers, hubCallsOf, type KeptAnswer } from "./hub-answers.ts";

/** Makes a hub call. Rejects only if the signal aborts. */
export type MakeCall = (call: ToolCallPart, signal: AbortSignal) => Promise<ToolMessage>;

/** What is already known of an answer. */
export type Begun = Pick<KeptAnswer, "rounds"> & Partial<KeptAnswer>;

interface LiveRound {
  readonly said: AssistantMessage;
  readonly results: Map<string, ToolMessage>;
  readonly pending: Map<string, Promise<ToolMessage>>;
}

/**
 * One answer in which the hub runs tools: its rounds, the results of its hub calls, and how it ended. One run at a time writes
 * it. Other runs with the same request read along, and one of them takes over if the writing run is cancelled.
 */
export class HubAnswer {
  readonly place: AnswerPlace;
  readonly #store: HubAnswers;
  readonly #onUnused: () => void;
  readonly #graceMs: number;
  readonly #rounds: LiveRound[];
  readonly #abort = new AbortController();
  #end: AnswerEnd | undefined;
  #holders = 0;
  #isWritten = false;
  #isSettled: boolean;
  /** Another process makes this answer, so nothing of it is written here. */
  #isElsewhere = false;
  /** While it is not known yet whether a round is ours. */
  #claim: Promise<boolean> | undefined;
  #stored: Awaitable<void> = undefined;
  #grace: NodeJS.Timeout | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(
    place: AnswerPlace,
    kept: Begun | undefined,
    {
      store,
      graceMs,
      onUnused,
    }: { readonly store: HubAnswers; readonly graceMs: number; readonly onUnused: () => void },
  ) {
    this.place = place;
    this.#store = store;
    this.#graceMs = graceMs;
    this.#onUnused = onUnused;
    this.#end = kept?.end;
    this.#isSettled = kept?.isSettled ?? false;
    this.#rounds = (kept?.rounds ?? []).map(({ said, results }) => ({
      said,
      results: new Map(results.map((result) => [result.callId, result])),
      pending: new Map(),
    }));
  }

  /** What the model said and called in each round. */
  get rounds(): readonly AssistantMessage[] {
    return this.#rounds.map(({ said }) => said);
  }

  get end(): AnswerEnd | undefined {
    return this.#end;
  }

  /** Returns its first rounds in the form that is stored. */
  kept(count: number): Pick<KeptAnswer, "rounds"> {
    const rounds = this.#rounds.slice(0, count);
    return { rounds: rounds.map(({ said, results }) => ({ said, results: [...results.values()] })) };
  }

  /** True if a run uses it. */
  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** Keeps its calls running until the returned function is called. That may be called twice. */
  hold(): () => void {
    clearTimeout(this.#grace);
    this.#grace = undefined;
    this.#holders++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holders === 0) this.#fade();
    };
  }

  /** Makes the caller the writing run. Returns false if there is one already. */
  claim(): boolean {
    if (this.#isWritten) return false;
    this.#isWritten = true;
    return true;
  }

  /** Ends the writing, so that another run may take over. */
  leave(): void {
    this.#isWritten = false;
    this.#notify();
  }

  /** Resolves when there is another round or the end, or when the writing run leaves. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /**
   * Stores a round, and only then makes its hub calls. A round with client calls ends the answer. If another process makes
   * this answer, no call is made, and their results reject.
   */
  addRound(said: AssistantMessage, make: MakeCall): void {
    const round: LiveRound = { said, results: new Map(), pending: new Map() };
    const at = this.#rounds.push(round) - 1;
    const calls = hubCallsOf(said);
    const claim = calls.length > 0 ? this.#begin(at, said) : undefined;
    if (!claim) this.#put(at);
    for (const call of calls) {
      const begun = after(claim ?? true, (isOurs) =>
        isOurs ? make(call, this.#abort.signal) : Promise.reject(answeredElsewhere()),
      );
      const made = Promise.resolve(begun).then((result) => {
        round.results.set(call.id, result);
        this.#put(at);
        return result;
      });
      // A call that fails while nobody waits for it has no result, and is no error of this process.
      made
        .catch(() => {})
        .finally(() => {
          round.pending.delete(call.id);
          this.#leaveIfDone();
        });
      round.pending.set(call.id, made);
    }
    this.#notify();
  }

  /** Stores how the answer ended. An answer without hub calls is not stored. */
  finish(end: AnswerEnd, historyKey: string): void {
    if (this.#rounds.length === 0) return;
    this.#end = end;
    this.#write(() => {
      this.#stored = this.#store.putEnd(this.place, end, historyKey);
    });
    // Whether the client has seen an end with calls is certain only when their results come.
    if (end.reason !== "tool-calls") this.settle();
    this.#leaveIfDone();
    this.#notify();
  }

  /** Nothing more of it is made here, also while a parked run holds it. */
  #leaveIfDone(): void {
    if (this.#end && this.#rounds.every(({ pending }) => pending.size === 0)) this.#store.leave(this.place, true);
  }

  /** Resolves when the end is stored, so that a follow-up finds it. */
  get stored(): Awaitable<void> {
    return this.#claim ? this.#claim.then(() => this.#stored) : this.#stored;
  }

  /** Records that the client has seen the end. */
  settle(): void {
    if (this.#end && !this.#isSettled) this.#write(() => this.#store.settle(this.place));
    this.#isSettled ||= this.#end !== undefined;
  }

  /** Returns the results of the hub calls in a round. An interrupted call gets a result that says its outcome is unknown. */
  resultsOf(at: number): Promise<readonly ToolMessage[]> {
    const round = this.#rounds[at];
    if (!round) return Promise.resolve([]);
    const results = hubCallsOf(round.said).map(({ id }) => {
      const found = round.results.get(id) ?? round.pending.get(id);
      if (found) return found;
      if (this.#isElsewhere) return Promise.reject(answeredElsewhere());
      const unknown = unknownOutcome(id);
      round.results.set(id, unknown);
      this.#put(at);
      return unknown;
    });
    return awaitedLater(Promise.all(results));
  }

  #put(at: number): void {
    const round = this.#rounds[at];
    if (!round) return;
    const results = [...round.results.values()];
    this.#write(() => this.#store.putRound(this.place, at, { said: round.said, results }));
  }

  /** Writes to the store, as soon as it is known that no other process makes this answer. */
  #write(write: () => void): void {
    if (this.#claim) void this.#claim.then(() => this.#write(write));
    else if (!this.#isElsewhere) write();
  }

  /** Stores a round whose calls come next. Returns whether they are ours to make. */
  #begin(at: number, said: AssistantMessage): Awaitable<boolean> {
    const claim = this.#store.beginRound(this.place, at, { said, results: [] });
    if (!(claim instanceof Promise)) {
      this.#isElsewhere = !claim;
      return claim;
    }
    this.#claim = claim;
    void claim.then((isOurs) => {
      this.#isElsewhere = !isOurs;
      this.#claim = undefined;
    });
    return claim;
  }

  /** Gives calls under way some time to end. */
  #fade(): void {
    this.#store.leave(this.place, false);
    const pending = this.#rounds.flatMap((round) => [...round.pending.values()]);
    const end = () => {
      clearTimeout(this.#grace);
      this.#grace = undefined;
      this.#abort.abort();
      this.#onUnused();
    };
    if (pending.length === 0) {
      end();
      return;
    }
    const grace = setTimeout(end, this.#graceMs).unref();
    this.#grace = grace;
    void Promise.allSettled(pending).then(() => this.#grace === grace && end());
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

const answeredElsewhere = (): ExcursorError => new ExcursorError("answered_elsewhere", [], { retryable: true });

const unknownOutcome = (callId: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [
    {
      type: "text",
      text: "The outcome of this call is unknown: it was interrupted before its result arrived, and was not made again. It may have had an effect. Check that before you repeat it.",
    },
  ],
  isError: true,
  isHubs: true,
});
