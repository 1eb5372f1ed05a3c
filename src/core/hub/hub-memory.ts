import { hash, randomUUID } from "node:crypto";
import { runIdOf } from "../engine/call-names.ts";
import { offeredTools } from "../engine/run-terms.ts";
import { historyKeys } from "../history/history-key.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, Turn } from "../turn.ts";
import {
  type AnswerEnd,
  type AnswerPlace,
  type HubAnswers,
  type KeptAnswer,
  messagesOf,
  NO_HUB_ANSWERS,
} from "./hub-answers.ts";

/** How long calls go on after the last request that waits for them is gone: a client that retries finds them. */
const GRACE_MS = 3000;

/** How long a question whose answer was broken off may be asked again to go on with it. Later it is a new question. */
const RETRY_MS = 15 * 60_000;

/** Calls a tool of the hub's. Rejects only if the signal aborts. */
export type MakeCall = (call: ToolCallPart, signal: AbortSignal) => Promise<ToolMessage>;

/** What an answer begins with. */
type Begun = Pick<KeptAnswer, "rounds"> & Partial<KeptAnswer>;

interface LiveRound {
  readonly said: AssistantMessage;
  readonly results: Map<string, ToolMessage>;
  readonly pending: Map<string, Promise<ToolMessage>>;
}

/**
 * One answer for which the hub runs tools: what was asked of the hub, what came of it, and how it ended. One run at a time
 * writes it; others with the same request read along, and take over if that run is cancelled.
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

  /** What the model said and called, round by round. */
  get rounds(): readonly AssistantMessage[] {
    return this.#rounds.map(({ said }) => said);
  }

  get end(): AnswerEnd | undefined {
    return this.#end;
  }

  /** Its first rounds, as they are kept. */
  kept(count: number): Pick<KeptAnswer, "rounds"> {
    const rounds = this.#rounds.slice(0, count);
    return { rounds: rounds.map(({ said, results }) => ({ said, results: [...results.values()] })) };
  }

  /** Whether a run uses it. */
  get isHeld(): boolean {
    return this.#holders > 0;
  }

  /** Keeps its calls going until the returned function is called; calling that twice is harmless. */
  hold(): () => void {
    clearTimeout(this.#grace);
    this.#holders++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holders === 0) this.#fade();
    };
  }

  /** Makes the caller the one run that writes it. False if there is one. */
  claim(): boolean {
    if (this.#isWritten) return false;
    this.#isWritten = true;
    return true;
  }

  /** The writing run is cancelled or done; another one may take over. */
  leave(): void {
    this.#isWritten = false;
    this.#notify();
  }

  /** Resolves with the next round, the end, or when the writing run leaves. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Writes a round down, and only then makes its calls. With calls of the client's it ends the answer. */
  addRound(said: AssistantMessage, make: MakeCall): void {
    const round: LiveRound = { said, results: new Map(), pending: new Map() };
    const at = this.#rounds.push(round) - 1;
    this.#put(at);
    for (const call of hubCalls(said)) {
      const made = make(call, this.#abort.signal).then((result) => {
        round.results.set(call.id, result);
        this.#put(at);
        return result;
      });
      // Without a reader a failure is nobody's; the call stays without a result.
      made.catch(() => {}).finally(() => round.pending.delete(call.id));
      round.pending.set(call.id, made);
    }
    this.#notify();
  }

  /** Writes down how it ended; nothing if the hub did nothing in it. */
  finish(end: AnswerEnd, historyKey: string): void {
    if (this.#rounds.length === 0) return;
    this.#end = end;
    this.#store.putEnd(this.place, end, historyKey);
    // An end with calls is seen for sure when their results come.
    if (end.reason !== "tool-calls") this.settle();
    this.#notify();
  }

  /** The client has seen the end. */
  settle(): void {
    if (this.#end && !this.#isSettled) this.#store.settle(this.place);
    this.#isSettled ||= this.#end !== undefined;
  }

  /** The results of the hub's calls in a round. A call that nobody makes any more has an unknown outcome. */
  resultsOf(at: number): Promise<readonly ToolMessage[]> {
    const round = this.#rounds[at];
    if (!round) return Promise.resolve([]);
    const results = hubCalls(round.said).map(({ id }) => {
      const found = round.results.get(id) ?? round.pending.get(id);
      if (found) return found;
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
    if (round) this.#store.putRound(this.place, at, { said: round.said, results: [...round.results.values()] });
  }

  #fade(): void {
    const isBusy = this.#rounds.some(({ pending }) => pending.size > 0);
    const end = () => {
      this.#abort.abort();
      this.#onUnused();
    };
    if (isBusy) this.#grace = setTimeout(end, this.#graceMs).unref();
    else end();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/**
 * What the hub does and did in conversations, so that none of its calls is made twice for the same request.
 *
 * A follow-up with results of the client's tools is one point of one conversation, since call ids are random: everything
 * after it is done once. A question may be meant to be asked again, so it only goes on with an answer that was broken off.
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

  /** The answer to a turn: the one under way, the kept one, or a new one. The caller holds it at once. */
  answerTo(turn: Turn): HubAnswer {
    const principalId = turn.principal.id;
    const askedKey = keyOf(turn);
    if (!isFollowUp(turn)) {
      const broken = this.#store.findAsked(principalId, askedKey).find((kept) => this.#isBroken(kept));
      return this.#open({ principalId, askedKey, id: broken?.id ?? randomUUID() }, broken);
    }
    const slot = slotOf(principalId, askedKey);
    const live = this.#followUps.get(slot);
    if (live) return live;
    const kept = this.#store.findAsked(principalId, askedKey);
    const best = kept.find(({ end }) => end) ?? kept[0];
    const answer = this.#open({ principalId, askedKey, id: best?.id ?? randomUUID() }, best);
    this.#followUps.set(slot, answer);
    return answer;
  }

  /** A new answer with the first rounds of another one, all of whose results are known. The caller holds it at once. */
  copy(answer: HubAnswer, rounds: number): HubAnswer {
    const { principalId, askedKey } = answer.place;
    const kept = answer.kept(rounds);
    const copy = this.#open({ principalId, askedKey, id: randomUUID() }, kept);
    kept.rounds.forEach((round, at) => {
      this.#store.putRound(copy.place, at, round);
    });
    return copy;
  }

  /**
   * What the hub did in a conversation, by the keys of the histories that end with its answers. Waits for calls that are
   * under way.
   */
  async recall({ principal, messages }: Turn): Promise<ReadonlyMap<string, readonly Message[]>> {
    const keys = historyKeys(messages);
    const wanted = messages.flatMap(({ role }, at) => (role === "assistant" ? [keys[at + 1] ?? ""] : []));
    if (wanted.length === 0) return new Map();
    const found = this.#store.findAnswered(principal.id, wanted);
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

  #isBroken({ id, isSettled, ageMs }: KeptAnswer): boolean {
    return !isSettled && ageMs < RETRY_MS && !this.#live.get(id)?.isHeld;
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
        if (this.#followUps.get(slot) === answer) this.#followUps.delete(slot);
      },
    });
    this.#live.set(place.id, answer);
    return answer;
  }
}

/** True if the turn brings results for calls that we named. Clients may put text of the user's after the results. */
const isFollowUp = ({ messages }: Turn): boolean => {
  const latest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return latest.some((message) => message.role === "tool" && runIdOf(message.callId) !== undefined);
};

const slotOf = (principalId: string, askedKey: string): string => JSON.stringify([principalId, askedKey]);

/** Another model, or other tools, is another request. */
function keyOf(turn: Turn): string {
  const tools = offeredTools(turn)
    .map(({ name }) => name)
    .sort();
  return hash("sha256", JSON.stringify([historyKeys(turn.messages).at(-1), turn.model.id, tools]), "base64url");
}

const hubCalls = ({ content }: AssistantMessage): readonly ToolCallPart[] =>
  content.filter((part) => part.type === "tool-call" && part.isHubs === true) as ToolCallPart[];

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
