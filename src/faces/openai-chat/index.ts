import type { Face } from "../face.ts";
import type { AnswerHead, ReasoningField } from "./answer.ts";
import { CompletionCollector } from "./collect.ts";
import { errorBody } from "./errors.ts";
import { type ChatLimits, readRequest, toTurn } from "./parse.ts";
import { ignoredFields } from "./refusals.ts";
import { ChunkRenderer } from "./render.ts";

export interface OpenAiChatOptions {
  readonly limits?: Partial<ChatLimits>;
  readonly reasoningField?: ReasoningField;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const DEFAULT_LIMITS: ChatLimits = { maxMessages: 10_000, maxTools: 512, maxImages: 20 };

/** OpenAI's Chat Completions. */
export function createOpenAiChatFace(options: OpenAiChatOptions = {}): Face {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
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
