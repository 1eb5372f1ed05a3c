import { isJsonObject } from "../../core/json/is-json-object.ts";
import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Face, ParseContext } from "../shared/face.ts";
import type { RequestLimits } from "../shared/request-limits.ts";
import type { CallMemory } from "../shared/tools/call-memory.ts";
import type { AnswerHead } from "./answer.ts";
import { ResponseCollector } from "./collect.ts";
import { readRequest, toTurn } from "./parse.ts";
import { ArrayRenderer, ChunkRenderer } from "./render.ts";
import { checkAsked } from "./request/contents.ts";

export interface GeminiOptions {
  readonly limits: RequestLimits;
  readonly memory: CallMemory;
}

/** The face of `:generateContent`, or of `:streamGenerateContent`. */
export const createGeminiFace = ({ limits, memory }: GeminiOptions, isStream: boolean): Face => ({
  async parse(body, context) {
    const { request, ignored } = readRequest(body, limits);
    checkAsked(request.contents);
    const { turn, conversation } = await toTurn(request, context, memory);
    const head: AnswerHead = {
      id: context.requestId,
      model: turn.model.id,
      includesThoughts: request.generationConfig?.thinkingConfig?.includeThoughts ?? false,
      keepCalls: (calls) => memory.keep(conversation, calls),
    };
    const isEvents = context.query.get("alt") === "sse";
    return {
      turn,
      isStream,
      ignored,
      fields: { effort: "generationConfig.thinkingConfig", top_p: "topP", top_k: "topK" },
      stream: () => (isEvents ? new ChunkRenderer(head) : new ArrayRenderer(head)),
      collect: () => new ResponseCollector(head),
    };
  },
});

/** Handles `:countTokens`: returns an estimate of the input tokens. */
export async function countTokens(
  body: unknown,
  context: ParseContext,
  { limits, memory }: GeminiOptions,
): Promise<JsonObject> {
  const whole = isJsonObject(body) ? (body["generateContentRequest"] ?? body["generate_content_request"]) : undefined;
  const { request } = readRequest(whole ?? body, limits);
  const { turn } = await toTurn(request, context, memory);
  return { totalTokens: estimateInputTokens(turn) };
}
