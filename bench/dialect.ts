/** A public dialect as the load client speaks it: how to ask, and where the tokens of a streamed answer stand. */
export interface BenchDialect {
  readonly name: string;
  readonly path: string;
  body(messages: readonly object[], isStream: boolean): object;
  /** What comes before the text of a token, and nowhere else before a text. */
  readonly beforeToken: Buffer;
  /** In the events that end an answer, and in no others. */
  readonly end: Buffer;
}

export const CHAT: BenchDialect = {
  name: "Chat Completions",
  path: "/v1/chat/completions",
  body: (messages, stream) => ({ model: "bench", stream, messages }),
  beforeToken: Buffer.from('"content":"'),
  end: Buffer.from("data: [DONE]\n\n"),
};

/** Thinking is part of the text. */
export const CHAT_TAGS: BenchDialect = {
  ...CHAT,
  name: "Chat Completions with tags",
  path: "/tags/v1/chat/completions",
};

/** As Codex asks, and OpenCode: nothing is kept. */
export const RESPONSES: BenchDialect = {
  name: "Responses",
  path: "/v1/responses",
  body: (input, stream) => ({ model: "bench", stream, store: false, input }),
  beforeToken: Buffer.from('"delta":"'),
  end: Buffer.from("event: response.completed\n"),
};

/** The number of tokens has to be said in this dialect: it is one that nobody reaches. */
export const MESSAGES: BenchDialect = {
  name: "Messages",
  path: "/v1/messages",
  body: (messages, stream) => ({ model: "bench", stream, max_tokens: 10_000_000, messages }),
  beforeToken: Buffer.from('"text":"'),
  end: Buffer.from("event: message_stop\n"),
};
