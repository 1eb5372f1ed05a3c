import type { z } from "zod";
import type { Thoughts } from "../../core/thinking/thoughts.ts";
import type { Face, ParseContext } from "../shared/face.ts";
import type { RequestLimits } from "../shared/request-limits.ts";
import { ThoughtKeeper } from "../shared/thought-keeper.ts";
import type { CallMemory } from "../shared/tools/call-memory.ts";
import type { AnswerHead } from "./answer.ts";
import { LineCollector } from "./collect.ts";
import { loadReason } from "./load-request.ts";
import { chatTurn, generateTurn, type ReadContext, type ReadTurn, readRequest } from "./parse.ts";
import { ignoredFields } from "./refusals.ts";
import { LineRenderer } from "./render.ts";
import { type ChatRequest, chatRequest, type GenerateRequest, generateRequest } from "./schema.ts";

export interface OllamaOptions {
  readonly limits: RequestLimits;
  readonly thoughts: Thoughts;
  readonly memory: CallMemory;
  /** Throws `model-not-found`. */
  checkModel(name: string, context: ParseContext): Promise<void>;
}

/** The face of `/api/chat`. */
export const createChatFace = (options: OllamaOptions): Face => createFace("chat", chatRequest, chatTurn, options);

/** The face of `/api/generate`. */
export const createGenerateFace = (options: OllamaOptions): Face =>
  createFace("generate", generateRequest, generateTurn, options);

function createFace<T extends ChatRequest | GenerateRequest>(
  form: AnswerHead["form"],
  schema: z.ZodType<T>,
  toTurn: (request: T, context: ReadContext) => Promise<ReadTurn>,
  { limits, thoughts, memory, checkModel }: OllamaOptions,
): Face {
  return {
    async parse(body, context) {
      const startedAt = performance.now();
      const request = readRequest(schema, body, limits);
      const { turn, conversation } = await toTurn(request, { ...context, thoughts, memory });
      const reason = loadReason(request);
      if (reason) await checkModel(turn.model.id, context);
      const head: AnswerHead = {
        model: request.model,
        form,
        loadReason: reason,
        showsThinking: request.think !== false,
        startedAt,
        keeper: new ThoughtKeeper(thoughts, context.principal.id),
        keepCalls: (calls) => memory.keep(conversation, calls),
      };
      return {
        turn,
        isStream: request.stream ?? true,
        isUnasked: reason !== undefined,
        ignored: ignoredFields(body as Readonly<Record<string, unknown>>),
        fields: { effort: "think", repetition_penalty: "options.repeat_penalty" },
        stream: () => new LineRenderer(head),
        collect: () => new LineCollector(head),
      };
    },
  };
}
