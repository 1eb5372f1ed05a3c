import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Face, ParseContext } from "../shared/face.ts";
import { REQUEST_LIMITS, type RequestLimits } from "../shared/request-limits.ts";
import type { AnswerHead } from "./answer.ts";
import { MessageCollector } from "./collect.ts";
import { readRequest, toTurn } from "./parse.ts";
import { MessageRenderer } from "./render.ts";
import { checkAsked } from "./request/messages.ts";
import { countRequest, messagesRequest } from "./schema.ts";

export interface AnthropicMessagesOptions {
  readonly limits?: Partial<RequestLimits>;
}

export interface AnthropicMessagesFace extends Face {
  /** Handles `count_tokens`: returns an estimate of the input tokens. */
  countTokens(body: unknown, context: ParseContext): Promise<JsonObject>;
}

export function createAnthropicMessagesFace(options: AnthropicMessagesOptions = {}): AnthropicMessagesFace {
  const limits = { ...REQUEST_LIMITS, ...options.limits };
  return {
    parse: async (body, context) => {
      const request = readRequest(messagesRequest, body, limits);
      checkAsked(request.messages);
      const { turn, ignored } = await toTurn(request, body, context);
      const head: AnswerHead = {
        id: `msg_${context.requestId}`,
        model: request.model,
        inputTokens: () => estimateInputTokens(turn),
        omitsThinking: request.thinking?.display === "omitted",
      };
      return {
        turn,
        isStream: request.stream ?? false,
        ignored,
        fields: { effort: request.output_config?.effort ? "output_config.effort" : "thinking" },
        stream: () => new MessageRenderer(head),
        collect: () => new MessageCollector(head),
      };
    },
    countTokens: async (body, context) => {
      const { turn } = await toTurn(readRequest(countRequest, body, limits), body, context);
      return { input_tokens: estimateInputTokens(turn) };
    },
  };
}
