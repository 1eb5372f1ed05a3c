import type { DialectAdapter } from "../../gateway/support/dialect.ts";
import { readEvents } from "../../gateway/support/dialect.ts";
import { anthropicMessages } from "../../gateway/support/dialects/anthropic-messages.ts";
import { gemini } from "../../gateway/support/dialects/gemini.ts";
import { ollama } from "../../gateway/support/dialects/ollama.ts";
import { openAiChat } from "../../gateway/support/dialects/openai-chat.ts";
import { openAiResponses } from "../../gateway/support/dialects/openai-responses.ts";
import { chatStream, wholeChat } from "./rules/chat.ts";
import { geminiStream, wholeGemini } from "./rules/gemini.ts";
import { messageStream, wholeMessage } from "./rules/messages.ts";
import { ollamaStream, wholeLine } from "./rules/ollama.ts";
import { echoOfIgnored, responseStream, wholeResponse } from "./rules/responses.ts";

/** How one dialect is asked, and what holds for it beside its types. */
export interface Dialect {
  readonly adapter: DialectAdapter;
  /** The types of `wire-types.ts`: a whole answer, an event, an error. */
  readonly answer: string;
  readonly event: string;
  readonly error: string;
  /** True if an error within a stream is the body of an error, and no event. */
  readonly failsWithBody: boolean;
  readonly contentType: string;
  /** The header that names a request to the dialect's clients. */
  readonly requestId?: string;
  /** The types of errors by status, closed. */
  readonly errorTypes: Readonly<Record<number, readonly string[]>>;
  /** The type that an error body gives, if the dialect has such. */
  errorType(body: never): string | undefined;
  split(text: string): readonly unknown[];
  ordered(events: never[], text: string): readonly string[];
  whole(answer: never): readonly string[];
  /** For a dialect whose answers repeat what was asked. */
  echoOfIgnored?(asked: unknown, answer: unknown, ignored: readonly string[]): readonly string[];
}

const ofEvents = (text: string): readonly unknown[] =>
  readEvents(text).flatMap(({ data }) => (data === "[DONE]" ? [] : [JSON.parse(data) as unknown]));

const MALFORMED = ["invalid_request_error"];

/** platform.openai.com/docs/guides/error-codes; the types as the service sends them. */
const OPENAI = {
  error: "OpenAiError",
  contentType: "text/event-stream",
  requestId: "x-request-id",
  errorType: ({ error }: { error: { type: string } }) => error.type,
  split: ofEvents,
  errorTypes: {
    ...Object.fromEntries([400, 404, 405, 410, 413, 415, 426, 501].map((status) => [status, MALFORMED])),
    401: ["authentication_error"],
    402: ["insufficient_quota"],
    403: ["permission_error"],
    429: ["rate_limit_error", "insufficient_quota"],
    ...Object.fromEntries([499, 500, 502, 503, 504].map((status) => [status, ["server_error"]])),
  },
} as const;

export const DIALECTS: readonly Dialect[] = [
  {
    adapter: openAiChat,
    answer: "ChatAnswer",
    event: "ChatChunk",
    ...OPENAI,
    failsWithBody: true,
    ordered: chatStream,
    whole: wholeChat,
  },
  {
    adapter: openAiResponses,
    answer: "ResponsesAnswer",
    event: "ResponsesEvent",
    ...OPENAI,
    failsWithBody: false,
    ordered: responseStream,
    whole: wholeResponse,
    echoOfIgnored,
  },
  {
    adapter: anthropicMessages,
    answer: "MessagesAnswer",
    event: "MessagesEvent",
    error: "MessagesError",
    failsWithBody: false,
    contentType: "text/event-stream",
    requestId: "request-id",
    // docs.anthropic.com/en/api/errors
    errorTypes: {
      ...Object.fromEntries([400, 405, 410, 415, 426].map((status) => [status, MALFORMED])),
      401: ["authentication_error"],
      402: ["billing_error"],
      403: ["permission_error"],
      404: ["not_found_error"],
      413: ["request_too_large"],
      429: ["rate_limit_error"],
      ...Object.fromEntries([499, 500, 501, 502].map((status) => [status, ["api_error"]])),
      504: ["timeout_error"],
      529: ["overloaded_error"],
    },
    errorType: ({ error }: { error: { type: string } }) => error.type,
    split: ofEvents,
    ordered: messageStream,
    whole: wholeMessage,
  },
  {
    adapter: gemini,
    answer: "GeminiAnswer",
    event: "GeminiAnswer",
    error: "GeminiError",
    failsWithBody: true,
    contentType: "text/event-stream",
    // google/rpc/code.proto; it has none for what HTTP itself refuses.
    errorTypes: {
      400: ["INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"],
      401: ["UNAUTHENTICATED"],
      403: ["PERMISSION_DENIED"],
      404: ["NOT_FOUND"],
      ...Object.fromEntries([405, 415, 421, 431].map((status) => [status, ["INVALID_ARGUMENT"]])),
      429: ["RESOURCE_EXHAUSTED"],
      499: ["CANCELLED"],
      500: ["INTERNAL", "UNKNOWN", "DATA_LOSS"],
      501: ["UNIMPLEMENTED"],
      502: ["INTERNAL"],
      503: ["UNAVAILABLE"],
      504: ["DEADLINE_EXCEEDED"],
    },
    errorType: ({ error }: { error: { status: string } }) => error.status,
    split: (text) => (text.startsWith("[") ? (JSON.parse(text) as unknown[]) : ofEvents(text)),
    ordered: geminiStream,
    whole: wholeGemini,
  },
  {
    adapter: ollama,
    answer: "OllamaChatLine",
    event: "OllamaChatLine",
    error: "OllamaError",
    failsWithBody: true,
    contentType: "application/x-ndjson",
    errorTypes: {},
    errorType: () => undefined,
    split: (text) =>
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ordered: ollamaStream,
    whole: wholeLine,
  },
];
