import type { ElicitationAnswer } from "../../core/hub/tool-hub.ts";

/** An answer of a principal to a question with this id. */
export interface GivenAnswer {
  readonly principalId: string;
  readonly id: string;
  readonly given: ElicitationAnswer;
}

/** Takes an answer. Returns false if the question is unknown, over, or another principal's. */
export type TakeAnswer = (answer: GivenAnswer) => boolean;

/** Brings answers to the gateway of a cluster that has asked the question. */
export interface SharedQuestions {
  /** The tag of this gateway. The ids of its questions begin with it. */
  readonly tag: string;
  /** Sends an answer to the gateway with this tag. Resolves with false if that is gone, or does not take the answer. */
  send(tag: string, answer: GivenAnswer): Promise<boolean>;
  /** Adds what takes the answers that other gateways send. */
  onAnswer(take: TakeAnswer): void;
}
