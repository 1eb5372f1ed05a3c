/** A question that a command asks as a client would. */
export interface ClientQuestion {
  readonly model: string;
  readonly prompt: string;
  /** A PNG in base64. */
  readonly image?: string;
  /** The name of a tool without parameters. */
  readonly tool?: string;
  /** The answer that called the tool, and the result. */
  readonly called?: { readonly answer: ClientAnswer; readonly result: string };
  /** Asks the model to think, and to show it. */
  readonly wantsThinking?: boolean;
}

export interface ClientAnswer {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ClientCall[];
}

export interface ClientCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly args: string;
}

/** A part of a streamed answer. `args` belong to the call that began last. */
interface AnswerPart {
  readonly text?: string | undefined;
  readonly thinking?: string | undefined;
  readonly call?: { readonly id: string; readonly name: string } | undefined;
  readonly args?: string | undefined;
}

/** How a question is written in a dialect, and how its streamed answer is read. */
export interface QuestionFormat {
  readonly title: string;
  path(model: string): string;
  body(question: ClientQuestion): object;
  /** Returns the parts of the answer in one event. */
  read(event: unknown): readonly AnswerPart[];
  /** True for the last event of a stream. A stream that ends with `[DONE]` needs none. */
  isLast(event: unknown): boolean;
}

export const TOOL_DESCRIPTION = "Returns a secret word.";
export const NO_PARAMETERS = { type: "object", properties: {} };
