import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { OutputFormat, Turn } from "../../core/turn.ts";
import { effortOfBudget } from "../shared/effort-of-budget.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { ParseContext } from "../shared/face.ts";
import { checkCount, type RequestLimits } from "../shared/request-limits.ts";
import { readSampling } from "../shared/sampling.ts";
import type { CallMemory } from "../shared/tools/call-memory.ts";
import { ignoredFields, refuseUnsupported } from "./refusals.ts";
import { inCamelCase } from "./request/camel-case.ts";
import { countImages, readContents } from "./request/contents.ts";
import { toJsonSchema } from "./request/json-schema.ts";
import { readTools } from "./request/tools.ts";
import { type GenerateRequest, type GenerationConfig, generateRequest } from "./schema.ts";

export interface ReadRequest {
  readonly request: GenerateRequest;
  readonly ignored: readonly string[];
}

/** Parses a body. Throws the first problem. */
export function readRequest(given: unknown, limits: RequestLimits): ReadRequest {
  checkCounts(given, limits);
  const body = inCamelCase(given);
  if (isJsonObject(body)) refuseUnsupported(body);
  const { data: request, error } = checkForm(generateRequest, body);
  if (error) throw invalidRequest(error, body);
  const declared = (request.tools ?? []).reduce((sum, tool) => sum + (tool.functionDeclarations?.length ?? 0), 0);
  if (declared > limits.maxTools) throw invalid("tools", `expected at most ${limits.maxTools}, got ${declared}`);
  const images = countImages(request.contents);
  if (images > limits.maxImages)
    throw invalid("contents", `expected at most ${limits.maxImages} images, got ${images}`);
  return { request, ignored: isJsonObject(body) ? ignoredFields(body) : [] };
}

function checkCounts(body: unknown, limits: RequestLimits): void {
  if (!isJsonObject(body)) return;
  checkCount("contents", body["contents"], limits.maxMessages);
  checkCount("tools", body["tools"], limits.maxTools);
}

export interface ReadTurn {
  readonly turn: Turn;
  /** Identifies the conversation, for the memory of call ids. */
  readonly conversation: string;
}

export async function toTurn(request: GenerateRequest, context: ParseContext, memory: CallMemory): Promise<ReadTurn> {
  const config = request.generationConfig ?? {};
  const { conversation, messages } = await readContents(request.contents, context, memory);
  const turn: Turn = {
    principal: context.principal,
    model: { id: context.path["model"] ?? "", effort: readEffort(config) },
    ...readTools(request),
    system: readSystem(request),
    messages,
    allowsParallelCalls: true,
    stop: (config.stopSequences ?? []).filter((text) => text !== ""),
    maxOutputTokens: config.maxOutputTokens ?? undefined,
    output: readFormat(config),
    ...readSampling({
      temperature: config.temperature,
      top_p: config.topP,
      top_k: config.topK,
      seed: config.seed,
      presence_penalty: config.presencePenalty,
      frequency_penalty: config.frequencyPenalty,
    }),
  };
  return { turn, conversation };
}

function readSystem({ systemInstruction: given }: GenerateRequest): string {
  if (!given || typeof given === "string") return given ?? "";
  const texts = (given.parts ?? []).map(({ text }) => text ?? "");
  return texts.filter((text) => text !== "").join("\n\n");
}

/** A budget of 0 turns thinking off, a negative one leaves it to the model. */
function readEffort({ thinkingConfig }: GenerationConfig): string | undefined {
  const { thinkingLevel: level, thinkingBudget: budget } = thinkingConfig ?? {};
  if (level && level !== "THINKING_LEVEL_UNSPECIFIED") return level.toLowerCase();
  if (budget === undefined || budget === null || budget < 0) return undefined;
  return budget === 0 ? "none" : effortOfBudget(budget);
}

function readFormat({ responseMimeType, responseSchema, responseJsonSchema }: GenerationConfig): OutputFormat {
  const schema = responseJsonSchema ?? (responseSchema ? toJsonSchema(responseSchema) : undefined);
  if (schema) {
    const field = `generationConfig.${responseJsonSchema ? "responseJsonSchema" : "responseSchema"}`;
    return { type: "json-schema", name: "answer", schema, field };
  }
  return { type: responseMimeType === "application/json" ? "json" : "text" };
}
