import type { Awaitable } from "../awaitable.ts";
import type { DoneReason } from "../events.ts";
import type { AssistantMessage, Message, ToolMessage } from "../turn.ts";

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
   * Writes a new round for all nodes, before its calls are made. Returns false if another node has begun the same round:
   * then its calls must not be made. Absent: nobody else can.
   */
  claimRound?(place: AnswerPlace, position: number, round: HubRound): Promise<boolean>;
  /** Writes a round. Called before its calls are made, and again with each result. */
  putRound(place: AnswerPlace, position: number, round: HubRound): void;
  /** Writes the end, and the key of the history that ends with this answer. */
  putEnd(place: AnswerPlace, end: AnswerEnd, historyKey: string): void;
  settle(place: AnswerPlace): void;
}

/** A store that keeps nothing. */
export const NO_HUB_ANSWERS: HubAnswers = {
  findAsked: () => [],
  findAnswered: () => new Map(),
  putRound: () => {},
  putEnd: () => {},
  settle: () => {},
};

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
