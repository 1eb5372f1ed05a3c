import type { ClientDialect } from "../client-config/client-recipe.ts";
import { ExcursorError } from "../core/errors.ts";
import { type GatewayClient, messageError } from "./gateway-client.ts";
import { readEvents } from "./read-events.ts";

interface DialectQuestion {
  readonly title: string;
  readonly path: string;
  readonly body: (model: string) => object;
  readonly textOf: (event: StreamedEvent) => string | undefined;
  /** The last event of a stream, if there is no `[DONE]`. */
  readonly last?: string;
}

interface StreamedEvent {
  readonly type?: string;
  readonly message?: unknown;
  readonly delta?: string | { readonly text?: string };
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[];
}

const PROMPT = "Reply with the single word: hello";
const messages = [{ role: "user", content: PROMPT }];

const QUESTIONS: Readonly<Record<ClientDialect, DialectQuestion>> = {
  chat: {
    title: "OpenAI Chat Completions",
    path: "/v1/chat/completions",
    body: (model) => ({ model, messages, stream: true }),
    textOf: ({ choices }) => choices?.[0]?.delta.content,
  },
  responses: {
    title: "OpenAI Responses",
    path: "/v1/responses",
    body: (model) => ({ model, input: PROMPT, stream: true, store: false }),
    textOf: ({ type, delta }) =>
      type === "response.output_text.delta" && typeof delta === "string" ? delta : undefined,
    last: "response.completed",
  },
  messages: {
    title: "Anthropic Messages",
    path: "/v1/messages",
    body: (model) => ({ model, messages, stream: true, max_tokens: 1024 }),
    textOf: ({ delta }) => (typeof delta === "object" ? delta.text : undefined),
    last: "message_stop",
  },
};

export const dialectTitle = (dialect: ClientDialect): string => QUESTIONS[dialect].title;

/** Streams one real question in this dialect, as a client would. Throws unless the answer is complete. */
export async function askInDialect(
  dialect: ClientDialect,
  gateway: GatewayClient,
  model: string,
  signal: AbortSignal,
): Promise<void> {
  const { path, body, textOf, last } = QUESTIONS[dialect];
  const response = await gateway.call(path, { body: body(model), signal });
  let text = "";
  for await (const event of readEvents(
    response,
    (given) => last !== undefined && (given as StreamedEvent).type === last,
  )) {
    const error = messageError("upstream-failed", event);
    if (error) throw error;
    text += textOf(event as StreamedEvent) ?? "";
  }
  if (text === "") throw new ExcursorError("upstream-failed", "The model answered nothing.", { code: "empty_answer" });
}
