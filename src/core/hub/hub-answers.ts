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
  /** Another node is making it. */
  readonly isElsewhere?: boolean;
}

export interface AnswerPlace {
  readonly principalId: string;
  readonly id: string;
  /** The key of the request that it answers. */
  readonly askedKey: string;
}

/** An answer that this node makes. */
export interface OwnAnswer {
  readonly place: AnswerPlace;
  /** True while a run uses it. */
  readonly isHeld: boolean;
}

/** `ours`: this node makes the calls. `elsewhere`: another node is making them. `lost`: a node that is gone has begun them. */
export type RoundClaim = "ours" | "elsewhere" | "lost";

/** Lets one node at a time make an answer. A node that is gone loses its answers after some seconds. */
interface AnswerLeases {
  /** Takes an answer that no node is making. Returns false if another node has taken it. */
  take(answer: OwnAnswer): Promise<boolean>;
  /** Takes the answer, and writes a new round for all nodes, before its calls are made. */
  begin(answer: OwnAnswer, position: number, round: HubRound): Promise<RoundClaim>;
  /** Lets other nodes have the answer, with everything that was written before. */
  free(place: AnswerPlace): void;
}

/**
 * Stores answers in which the hub ran tools. They are found by the request, and by the history that ends with them. Each
 * principal has its own. Size and age are limited, so an answer may be gone.
 */
export interface HubAnswers {
  /**
   * Returns the answers to one request, newest first. With a signal, it waits until none that is incomplete is made by
   * another node, or the signal aborts.
   */
  findAsked(principalId: string, askedKey: string, untilFree?: AbortSignal): Awaitable<readonly KeptAnswer[]>;
  /** Returns the answers that end these histories, by history key. Waits with a signal, as {@link findAsked} does. */
  findAnswered(
    principalId: string,
    historyKeys: readonly string[],
    untilFree?: AbortSignal,
  ): Awaitable<ReadonlyMap<string, KeptAnswer>>;
  /** Absent: no other node makes answers. */
  readonly leases?: AnswerLeases;
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
