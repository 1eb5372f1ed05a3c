import type { Awaitable } from "../awaitable.ts";
import type { DoneReason } from "../events.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage } from "../turn.ts";

/** One round of an answer: what the model said and called, and the results of its hub calls so far. */
export interface HubRound {
  readonly said: AssistantMessage;
  readonly results: readonly ToolMessage[];
}

/** How an answer ended. With `tool-calls` its last round has client calls. */
export interface AnswerEnd {
  readonly text: string;
  readonly reason: DoneReason;
}

/** A stored answer in which the hub ran tools. */
export interface KeptAnswer {
  readonly id: string;
  readonly askedKey: string;
  readonly rounds: readonly HubRound[];
  /** Undefined if the answer was interrupted or is still running. */
  readonly end: AnswerEnd | undefined;
  /** The client has certainly seen the end: the answer finished, or a follow-up came. */
  readonly isSettled: boolean;
  /** The time since it was last written. */
  readonly ageMs: number;
  /** Another process makes it: a run there uses it (`held`), or its last calls come to their end (`ending`). */
  readonly elsewhere?: "held" | "ending" | undefined;
}

export interface AnswerPlace {
  readonly principalId: string;
  readonly id: string;
  /** The key of the request that it answers. */
  readonly askedKey: string;
}

/**
 * Stores answers in which the hub ran tools. They are found by the request, and by the history that ends with them. Each
 * principal has its own. Size and age are limited, so an answer may be gone.
 */
export interface HubAnswers {
  /** Returns the answers to one request, newest first. */
  findAsked(principalId: string, askedKey: string): Awaitable<readonly KeptAnswer[]>;
  /** Returns the answers that end these histories, by history key. */
  findAnswered(principalId: string, historyKeys: readonly string[]): Awaitable<ReadonlyMap<string, KeptAnswer>>;
  /**
   * Writes a new round, before its calls are made. Returns false if another process has begun the same round: then its calls
   * must not be made.
   */
  beginRound(place: AnswerPlace, position: number, round: HubRound): Awaitable<boolean>;
  /** Writes a round that has more results, or none. */
  putRound(place: AnswerPlace, position: number, round: HubRound): void;
  /** Writes the end, and the key of the history that ends with this answer. It is waited for before the client sees the end. */
  putEnd(place: AnswerPlace, end: AnswerEnd, historyKey: string): Awaitable<void>;
  settle(place: AnswerPlace): void;
  /** No run of this process uses the answer any more. If it `isOver`, its calls have ended, too. */
  leave(place: AnswerPlace, isOver: boolean): void;
}

/** A store that keeps nothing. */
export const NO_HUB_ANSWERS: HubAnswers = {
  findAsked: () => [],
  findAnswered: () => new Map(),
  beginRound: () => true,
  putRound: () => {},
  putEnd: () => {},
  settle: () => {},
  leave: () => {},
};

export const hubCallsOf = ({ content }: AssistantMessage): readonly ToolCallPart[] =>
  content.filter((part) => part.type === "tool-call" && part.isHubs === true) as ToolCallPart[];

/** True if the answer has ended, and all its hub calls have results. */
export const isComplete = ({ end, rounds }: Pick<KeptAnswer, "end" | "rounds">): boolean =>
  end !== undefined &&
  rounds.every(({ said, results }) => hubCallsOf(said).every(({ id }) => results.some(({ callId }) => callId === id)));

/** Returns an answer as messages of a conversation, with the given results. */
export function messagesOf(
  rounds: readonly AssistantMessage[],
  results: readonly (readonly ToolMessage[])[],
  end: AnswerEnd | undefined,
): readonly Message[] {
  const messages = rounds.flatMap((said, at): readonly Message[] => [said, ...(results[at] ?? [])]);
  if (!end || end.text === "") return messages;
  return [...messages, { role: "assistant", content: [{ type: "text", text: end.text }] }];
}
