import { hash, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Awaitable, after } from "../awaitable.ts";
import { runIdOf } from "../engine/run/call-names.ts";
import { offeredTools } from "../engine/run-terms.ts";
import { historyKeys } from "../history/history-key.ts";
import type { Message, Turn } from "../turn.ts";
import { type Begun, HubAnswer } from "./hub-answer.ts";
import {
  type AnswerPlace,
  type HubAnswers,
  isComplete,
  type KeptAnswer,
  messagesOf,
  NO_HUB_ANSWERS,
} from "./hub-answers.ts";

/** How long calls continue after the last request that waits for them is gone, so that a client that retries finds them. */
const GRACE_MS = 3000;

/** How often it is looked whether another process still makes an answer. */
const LOOK_MS = 250;

/** How long it is waited for an answer that another process makes. Its client may have to wait as well. */
const PATIENCE_MS = 10_000;

/** How long an interrupted answer is continued when the same request comes again. After that the request is a new one. */
const RETRY_MS = 15 * 60_000;

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
  /** By principal and id: clients choose some ids. */
  readonly #live = new Map<string, HubAnswer>();
  readonly #followUps = new Map<string, HubAnswer>();

  constructor(store: HubAnswers = NO_HUB_ANSWERS, graceMs = GRACE_MS) {
    this.#store = store;
    this.#graceMs = graceMs;
  }

  /**
   * Returns the answer to a turn: the running one, the stored one, or a new one. The caller must hold it at once. An answer to
   * the same follow-up that another process is making is waited for, until the signal aborts.
   */
  answerTo(turn: Turn, signal?: AbortSignal): Awaitable<HubAnswer> {
    const principalId = turn.principal.id;
    const askedKey = keyOf(turn);
    const wait = patience(signal);
    return isFollowUp(turn)
      ? this.#openFollowUp(principalId, askedKey, wait)
      : this.#openQuestion(principalId, askedKey, wait);
  }

  #openQuestion(principalId: string, askedKey: string, wait: Patience): Awaitable<HubAnswer> {
    return after(this.#store.findAsked(principalId, askedKey), (kept) => {
      const broken = kept.find((one) => this.#isBroken(principalId, one));
      const later = broken && isBeingMade(broken) ? wait() : undefined;
      if (later) return later.then(() => this.#openQuestion(principalId, askedKey, wait));
      return this.#open({ principalId, askedKey, id: broken?.id ?? randomUUID() }, broken);
    });
  }

  #openFollowUp(principalId: string, askedKey: string, wait: Patience): Awaitable<HubAnswer> {
    const slot = slotOf(principalId, askedKey);
    const live = this.#followUps.get(slot);
    if (live) return live;
    return after(this.#store.findAsked(principalId, askedKey), (kept) => {
      const best = kept.find(({ end }) => end) ?? kept[0];
      const later = best && isBeingMade(best) ? wait() : undefined;
      if (later) return later.then(() => this.#openFollowUp(principalId, askedKey, wait));
      // The same in every process, so that only one of them makes the calls of a round.
      const place = { principalId, askedKey, id: best?.id ?? `follow-up-${askedKey}` };
      // The same request may have come again while the store was asked.
      const answer = this.#followUps.get(slot) ?? this.#open(place, best);
      this.#followUps.set(slot, answer);
      return answer;
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
    const wanted = answeredIn(messages);
    if (wanted.length === 0) return new Map();
    const found = await this.#findAnswered(principal.id, wanted, signal);
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

  /** Waits for the calls that other processes make. */
  async #findAnswered(
    principalId: string,
    wanted: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, KeptAnswer>> {
    const wait = patience(signal);
    for (;;) {
      const found = await this.#store.findAnswered(principalId, wanted);
      const later = [...found.values()].some(isBeingMade) ? wait() : undefined;
      if (!later) return found;
      await later;
    }
  }

  #isBroken(principalId: string, { id, isSettled, ageMs, elsewhere }: KeptAnswer): boolean {
    return !isSettled && elsewhere !== "held" && ageMs < RETRY_MS && !this.#live.get(slotOf(principalId, id))?.isHeld;
  }

  #open(place: AnswerPlace, kept: Begun | undefined): HubAnswer {
    const key = slotOf(place.principalId, place.id);
    const live = this.#live.get(key);
    if (live) return live;
    const slot = slotOf(place.principalId, place.askedKey);
    const answer: HubAnswer = new HubAnswer(place, kept, {
      store: this.#store,
      graceMs: this.#graceMs,
      onUnused: () => {
        this.#live.delete(key);
        this.#store.leave(place, true);
        if (this.#followUps.get(slot) === answer) this.#followUps.delete(slot);
      },
    });
    this.#live.set(key, answer);
    return answer;
  }
}

/** Pauses until the next look. Undefined if it was waited for long enough. */
type Patience = () => Promise<void> | undefined;

function patience(signal: AbortSignal | undefined): Patience {
  const until = performance.now() + PATIENCE_MS;
  return () => (performance.now() < until ? pause(LOOK_MS, undefined, { signal }) : undefined);
}

const isBeingMade = (kept: KeptAnswer): boolean => kept.elsewhere !== undefined && !isComplete(kept);

/** Returns the keys of the histories that end with an answer of the model. */
function answeredIn(messages: readonly Message[]): readonly string[] {
  const keys = historyKeys(messages);
  return messages.flatMap(({ role }, at) => (role === "assistant" ? [keys[at + 1] ?? ""] : []));
}

/** True if the turn has results for calls of one of our runs. Clients may put user text after the results. */
const isFollowUp = ({ messages }: Turn): boolean => {
  const latest = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return latest.some((message) => message.role === "tool" && runIdOf(message.callId) !== undefined);
};

const slotOf = (principalId: string, name: string): string => JSON.stringify([principalId, name]);

/** The key of a request: its history, model and tools. */
function keyOf(turn: Turn): string {
  const tools = offeredTools(turn)
    .map(({ name }) => name)
    .sort();
  return hash("sha256", JSON.stringify([historyKeys(turn.messages).at(-1), turn.model.id, tools]), "base64url");
}
