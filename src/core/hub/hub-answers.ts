import type { DoneReason } from "../events.ts";
import type { AssistantMessage, Message, ToolMessage } from "../turn.ts";

/** One round of an answer: what the model said and called, and the results of the hub's calls that are known. */
export interface HubRound {
  readonly said: AssistantMessage;
  readonly results: readonly ToolMessage[];
}

/** How an answer ended. With `tool-calls` its last round has calls of the client's. */
export interface AnswerEnd {
  readonly text: string;
  readonly reason: DoneReason;
}

/** An answer for which the hub ran tools, as it is kept. */
export interface KeptAnswer {
  readonly id: string;
  readonly askedKey: string;
  readonly rounds: readonly HubRound[];
  /** Undefined if the answer was broken off, or is still being given. */
  readonly end: AnswerEnd | undefined;
  /** The client has certainly seen the end: it finished, or a follow-up to it came. */
  readonly isSettled: boolean;
  /** Since it was last written. */
  readonly ageMs: number;
}

/** Where an answer belongs. */
export interface AnswerPlace {
  readonly principalId: string;
  readonly id: string;
  /** Stands for the request that it answers. */
  readonly askedKey: string;
}

/**
 * Answers for which the hub ran tools, found again by the request, and by the history that ends with them. Each principal has
 * its own. Bounded and for a while: what is not found is not known any more.
 */
export interface HubAnswers {
  /** The answers to one request, newest first. */
  findAsked(principalId: string, askedKey: string): readonly KeptAnswer[];
  /** Those that end these histories, by history key. */
  findAnswered(principalId: string, historyKeys: readonly string[]): ReadonlyMap<string, KeptAnswer>;
  /** Writes a round before its calls are made, and again with each result. */
  putRound(place: AnswerPlace, position: number, round: HubRound): void;
  /** Writes the end, and the key of the history that ends with this answer. */
  putEnd(place: AnswerPlace, end: AnswerEnd, historyKey: string): void;
  settle(place: AnswerPlace): void;
}

/** Keeps nothing. */
export const NO_HUB_ANSWERS: HubAnswers = {
  findAsked: () => [],
  findAnswered: () => new Map(),
  putRound: () => {},
  putEnd: () => {},
  settle: () => {},
};

/** An answer as part of a conversation, with the results that are given for its calls. */
export function messagesOf(
  rounds: readonly AssistantMessage[],
  results: readonly (readonly ToolMessage[])[],
  end: AnswerEnd | undefined,
): readonly Message[] {
  const messages = rounds.flatMap((said, at): readonly Message[] => [said, ...(results[at] ?? [])]);
  if (!end || end.text === "") return messages;
  return [...messages, { role: "assistant", content: [{ type: "text", text: end.text }] }];
}
