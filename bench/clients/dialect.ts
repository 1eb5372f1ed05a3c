/** A public dialect for the load client: how to send a request, and where the tokens of a streamed answer are. */
export interface BenchDialect {
  readonly name: string;
  readonly path: string;
  body(messages: readonly object[], isStream: boolean): object;
  /** The bytes before the text of a token. They precede no other text. */
  readonly beforeToken: Buffer;
  /** The bytes after an event. Default: those of server-sent events. */
  readonly eventEnd?: Buffer;
  /** The bytes that only the last events of an answer have. */
  readonly end: Buffer;
}

export const CHAT: BenchDialect = {
  name: "Chat Completions",
  path: "/v1/chat/completions",
  body: (messages, stream) => ({ model: "bench", stream, messages }),
  beforeToken: Buffer.from('"content":"'),
  end: Buffer.from("data: [DONE]\n\n"),
};

/** Thinking and text are in fields whose names end in the same way. */
export const CHAT_THINKING: BenchDialect = {
  ...CHAT,
  name: "Chat Completions with thinking",
  beforeToken: Buffer.from('content":"'),
};

/** Thinking is part of the text. */
export const CHAT_TAGS: BenchDialect = {
  ...CHAT,
  name: "Chat Completions with tags",
  path: "/tags/v1/chat/completions",
};

/** Without storage, as Codex and OpenCode send it. */
export const RESPONSES: BenchDialect = {
  name: "Responses",
  path: "/v1/responses",
  body: (input, stream) => ({ model: "bench", stream, store: false, input }),
  beforeToken: Buffer.from('"delta":"'),
  end: Buffer.from("event: response.completed\n"),
};

export const OLLAMA: BenchDialect = {
  name: "Ollama",
  path: "/api/chat",
  body: (messages, stream) => ({ model: "bench", stream, messages }),
  beforeToken: Buffer.from('"content":"'),
  eventEnd: Buffer.from("\n"),
  end: Buffer.from('"done":true'),
};

/** The path has the name of the model. */
export const GEMINI: BenchDialect = {
  name: "Gemini",
  path: "/v1beta/models/bench:streamGenerateContent?alt=sse",
  body: (messages) => ({
    contents: messages.map((message) => ({ parts: [{ text: (message as { readonly content: string }).content }] })),
  }),
  beforeToken: Buffer.from('"text":"'),
  end: Buffer.from('"finishReason":"'),
};

/** This dialect requires a limit of tokens, so it is one that no answer reaches. */
export const MESSAGES: BenchDialect = {
  name: "Messages",
  path: "/v1/messages",
  body: (messages, stream) => ({ model: "bench", stream, max_tokens: 10_000_000, messages }),
  beforeToken: Buffer.from('"text":"'),
  end: Buffer.from("event: message_stop\n"),
};
