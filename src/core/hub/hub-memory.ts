import { hash, randomUUID } from "node:crypto";
import { type Awaitable, after } from "../awaitable.ts";
import { runIdOf } from "../engine/run/call-names.ts";
import { offeredTools } from "../engine/run-terms.ts";
import { ExcursorError } from "../errors.ts";
import { historyKeys } from "../history/history-key.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, Turn } from "../turn.ts";
import {
  type AnswerEnd,
  type AnswerPlace,
  type HubAnswers,
  hubCallsOf,
  isComplete,
  type KeptAnswer,
  messagesOf,
  NO_HUB_ANSWERS,
  type OwnAnswer,
  type RoundClaim,
} from "./hub-answers.ts";

/** How long calls continue after the last request that waits for them is gone, so that a client that retries finds them. */
const GRACE_MS = 3000;

/** How long an interrupted answer is continued when the same request comes again. After that the request is a new one. */
const RETRY_MS = 15 * 60_000;

/** Makes a hub call. Rejects only if the signal aborts. */
export type MakeCall = (call: ToolCallPart, signal: AbortSignal) => Promise<ToolMessage>;

/** What is already known of an answer. */
type Begun = Pick<KeptAnswer, "rounds"> & Partial<KeptAnswer>;

interface LiveRound {
  readonly said: AssistantMessage;
  readonly results: Map<string, ToolMessage>;
  readonly pending: Map<string, Promise<ToolMessage>>;
}

/**
 * One answer in which the hub runs tools: its rounds, the results of its hub calls, and how it ended. One run at a time writes
 * it. Other runs with the same request read along, and one of them takes over if the writing run is cancelled.
 */
export class HubAnswer implements OwnAnswer {
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
  /** Another node makes this answer, so nothing of it is written here. */
  #isElsewhere = false;
  /** While it is not known yet. */
  #claim: Promise<RoundClaim> | undefined;
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
   * Stores a round, and only then makes its hub calls. A round with client calls ends the answer. If another node makes this
   * answer, no call is made, and their results reject.
   */
  addRound(said: AssistantMessage, make: MakeCall): void {
    const round: LiveRound = { said, results: new Map(), pending: new Map() };
    const at = this.#rounds.push(round) - 1;
    const calls = hubCallsOf(said);
    const claim = calls.length > 0 ? this.#store.leases?.begin(this, at, { said, results: [] }) : undefined;
    if (!claim) this.#put(at);
    if (claim) this.#await(claim);
    for (const call of calls) {
      const begun = claim
        ? claim.then((whose) => this.#makeClaimed(whose, call, make))
        : make(call, this.#abort.signal);
      const made = begun.then((result) => {
        round.results.set(call.id, result);
        this.#put(at);
        return result;
      });
      // Swallows the rejection if nobody awaits the result; the call then has none.
      made.catch(() => {}).finally(() => round.pending.delete(call.id));
      round.pending.set(call.id, made);
    }
    this.#notify();
  }

  /** Stores how the answer ended. An answer without hub calls is not stored. */
  finish(end: AnswerEnd, historyKey: string): void {
    if (this.#rounds.length === 0) return;
    this.#end = end;
    this.#write(() => this.#store.putEnd(this.place, end, historyKey));
    // Whether the client has seen an end with calls is certain only when their results come.
    if (end.reason !== "tool-calls") this.settle();
    this.#notify();
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
    const all = Promise.all(results);
    all.catch(() => {});
    return all;
  }

  #put(at: number): void {
    const round = this.#rounds[at];
    if (!round) return;
    const results = [...round.results.values()];
    this.#write(() => this.#store.putRound(this.place, at, { said: round.said, results }));
  }

  /** Writes to the store, as soon as it is known that no other node makes this answer. */
  #write(write: () => void): void {
    if (this.#claim) void this.#claim.then(() => this.#write(write));
    else if (!this.#isElsewhere) write();
  }

  #await(claim: Promise<RoundClaim>): void {
    this.#claim = claim;
    void claim.then((whose) => {
      this.#isElsewhere = whose === "elsewhere";
      this.#claim = undefined;
    });
  }

  #makeClaimed(whose: RoundClaim, call: ToolCallPart, make: MakeCall): Promise<ToolMessage> {
    if (whose === "elsewhere") return Promise.reject(answeredElsewhere());
    return whose === "ours" ? make(call, this.#abort.signal) : Promise.resolve(unknownOutcome(call.id));
  }

  /** Gives calls under way some time to end. */
  #fade(): void {
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

/**
 * Remembers the hub calls of conversations, so that none is made twice for the same request.
 *
 * A follow-up with results of client tools is unique, since call ids are random: its answer is made once, and repeated
 * requests get the same one. A request without results may be repeated on purpose, so it only continues an answer that was
 * interrupted.
 */
export class HubMemory {
  readonly #store: HubAnswers;
  readonly #graceMs: number;
  readonly #live = new Map<string, HubAnswer>();
  readonly #followUps = new Map<string, HubAnswer>();

  constructor(store: HubAnswers = NO_HUB_ANSWERS, graceMs = GRACE_MS) {
    this.#store = store;
    this.#graceMs = graceMs;
  }

  /**
   * Returns the answer to a turn: the running one, the stored one, or a new one. The caller must hold it at once. An answer to
   * the same follow-up that another node is making is waited for, until the signal aborts.
   */
  answerTo(turn: Turn, signal?: AbortSignal): Awaitable<HubAnswer> {
    const principalId = turn.principal.id;
    const askedKey = keyOf(turn);
    if (isFollowUp(turn)) return this.#openFollowUp(principalId, askedKey, signal);
    return after(this.#store.findAsked(principalId, askedKey), (kept) => {
      const broken = kept.find((one) => this.#isBroken(one));
      const begin = () => this.#open({ principalId, askedKey, id: randomUUID() }, undefined);
      if (!broken) return begin();
      const place = { principalId, askedKey, id: broken.id };
      return after(this.#take(place, broken), (isTaken) =>
        isTaken && this.#isBroken(broken) ? this.#open(place, broken) : begin(),
      );
    });
  }

  #openFollowUp(principalId: string, askedKey: string, signal: AbortSignal | undefined): Awaitable<HubAnswer> {
    const slot = slotOf(principalId, askedKey);
    const live = this.#followUps.get(slot);
    if (live) return live;
    return after(this.#store.findAsked(principalId, askedKey, signal), (kept) => {
      const best = kept.find(({ end }) => end) ?? kept[0];
      // The same on every node, so that only one of them makes the calls of a round.
      const place = { principalId, askedKey, id: best?.id ?? `follow-up-${askedKey}` };
      return after(this.#take(place, best), (isTaken) => {
        if (!isTaken) return this.#openFollowUp(principalId, askedKey, signal);
        // The same request may have come again while the store was asked.
        const answer = this.#followUps.get(slot) ?? this.#open(place, best);
        this.#followUps.set(slot, answer);
        return answer;
      });
    });
  }

  /** Makes this node the one that continues an answer, if there is something to continue. False if another node does. */
  #take(place: AnswerPlace, kept: KeptAnswer | undefined): Awaitable<boolean> {
    const { leases } = this.#store;
    if (!leases || !kept || isComplete(kept)) return true;
    const live = this.#live;
    return leases.take({
      place,
      get isHeld() {
        return live.get(place.id)?.isHeld ?? false;
      },
    });
  }

  /** Returns a new answer with the first rounds of another one. The caller must hold it at once. */
  copy(answer: HubAnswer, rounds: number): HubAnswer {
    const { principalId, askedKey } = answer.place;
    const kept = answer.kept(rounds);
    const copy = this.#open({ principalId, askedKey, id: randomUUID() }, kept);
    kept.rounds.forEach((round, at) => {
      this.#store.putRound(copy.place, at, round);
    });
    return copy;
  }

  /** Returns what the hub did in a conversation, by the keys of the histories that end there. Waits for running calls. */
  async recall({ principal, messages }: Turn, signal?: AbortSignal): Promise<ReadonlyMap<string, readonly Message[]>> {
    const keys = historyKeys(messages);
    const wanted = messages.flatMap(({ role }, at) => (role === "assistant" ? [keys[at + 1] ?? ""] : []));
    if (wanted.length === 0) return new Map();
    const found = await this.#store.findAnswered(principal.id, wanted, signal);
    const recalled = [...found].map(async ([key, kept]) => {
      const answer = this.#open({ principalId: principal.id, id: kept.id, askedKey: kept.askedKey }, kept);
      const release = answer.hold();
      answer.settle();
      try {
        const results = await Promise.all(answer.rounds.map((_, at) => answer.resultsOf(at)));
        return [key, messagesOf(answer.rounds, results, answer.end)] as const;
      } finally {
        release();
      }
    });
    return new Map(await Promise.all(recalled));
  }

  #isBroken({ id, isSettled, ageMs, isElsewhere }: KeptAnswer): boolean {
    return !isSettled && !isElsewhere && ageMs < RETRY_MS && !this.#live.get(id)?.isHeld;
  }

  #open(place: AnswerPlace, kept: Begun | undefined): HubAnswer {
    const live = this.#live.get(place.id);
    if (live) return live;
    const slot = slotOf(place.principalId, place.askedKey);
    const answer: HubAnswer = new HubAnswer(place, kept, {
      store: this.#store,
      graceMs: this.#graceMs,
      onUnused: () => {
        this.#live.delete(place.id);
        this.#store.leases?.free(place);
        if (this.#followUps.get(slot) === answer) this.#followUps.delete(slot);
      },
    });
    this.#live.set(place.id, answer);
    return answer;
  }
}

/** True if the turn has results for calls of one of our runs. Clients may put user text after the results. */
const isFollowUp = ({ messages }: Turn): boolean => {
  const latest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return latest.some((message) => message.role === "tool" && runIdOf(message.callId) !== undefined);
};

const slotOf = (principalId: string, askedKey: string): string => JSON.stringify([principalId, askedKey]);

/** The key of a request: its history, model and tools. */
function keyOf(turn: Turn): string {
  const tools = offeredTools(turn)
    .map(({ name }) => name)
    .sort();
  return hash("sha256", JSON.stringify([historyKeys(turn.messages).at(-1), turn.model.id, tools]), "base64url");
}

const answeredElsewhere = (): ExcursorError =>
  new ExcursorError("busy", "Another node of the gateway is answering this request.", {
    code: "answered_elsewhere",
    hint: "Send the request again: it gets the same answer.",
    retryable: true,
  });

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
