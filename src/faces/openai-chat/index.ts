import type { Face } from "../face.ts";
import { errorBody } from "../openai-errors.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../request-limits.ts";
import type { AnswerHead, ReasoningField } from "./answer.ts";
import { CompletionCollector } from "./collect.ts";
import { readRequest, toTurn } from "./parse.ts";
import { ignoredFields } from "./refusals.ts";
import { ChunkRenderer } from "./render.ts";

export interface OpenAiChatOptions {
  readonly limits?: Partial<RequestLimits>;
  readonly reasoningField?: ReasoningField;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** OpenAI's Chat Completions. */
export function createOpenAiChatFace(options: OpenAiChatOptions = {}): Face {
  const limits = { ...REQUEST_LIMITS, ...options.limits };
  const { reasoningField = "reasoning_content", now = Date.now } = options;
  return {
    parse: async (body, context) => {
      const request = readRequest(body, limits);
      const turn = await toTurn(request, context);
      const created = Math.floor(now() / 1000);
      const head: AnswerHead = { id: `chatcmpl-${context.requestId}`, created, model: request.model };
      const includesUsage = request.stream_options?.include_usage ?? false;
      return {
        turn,
        isStream: request.stream ?? false,
        ignored: ignoredFields(body as Readonly<Record<string, unknown>>),
        stream: () => new ChunkRenderer(head, { includesUsage, reasoningField }),
        collect: () => new CompletionCollector(head, reasoningField),
      };
    },
    error: errorBody,
  };
}
