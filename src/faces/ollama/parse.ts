import type { z } from "zod";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { Thoughts } from "../../core/thinking/thoughts.ts";
import type { ImagePart, OutputFormat, ToolDefinition, Turn } from "../../core/turn.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { ParseContext } from "../shared/face.ts";
import { checkCount, type RequestLimits } from "../shared/request-limits.ts";
import { readSampling } from "../shared/sampling.ts";
import type { CallMemory } from "../shared/tools/call-memory.ts";
import { refuseUnsupported } from "./refusals.ts";
import { loadImages } from "./request/images.ts";
import { readMessages } from "./request/messages.ts";
import type { ChatRequest, GenerateRequest } from "./schema.ts";

export interface ReadContext extends ParseContext {
  readonly memory: CallMemory;
  readonly thoughts: Thoughts;
}

export interface ReadTurn {
  readonly turn: Turn;
  /** Identifies the conversation, for the memory of call ids. */
  readonly conversation: string;
}

/** Parses a body. Throws the first problem. */
export function readRequest<T extends ChatRequest | GenerateRequest>(
  schema: z.ZodType<T>,
  body: unknown,
  limits: RequestLimits,
): T {
  if (isJsonObject(body)) {
    checkCount("messages", body["messages"], limits.maxMessages);
    checkCount("tools", body["tools"], limits.maxTools);
    refuseUnsupported(body);
  }
  const result = checkForm(schema, body);
  if (!result.success) throw invalidRequest(result.error, body);
  const images = countImages(result.data);
  if (images > limits.maxImages) throw invalid("images", `expected at most ${limits.maxImages}, got ${images}`);
  return result.data;
}

export async function chatTurn(request: ChatRequest, context: ReadContext): Promise<ReadTurn> {
  if (request.messages.length === 0) {
    const turn = { ...common(request, context), system: "", messages: [], tools: readTools(request) };
    return { turn, conversation: "" };
  }
  const { conversation, ...said } = await readMessages(request.messages, context);
  return { turn: { ...common(request, context), ...said, tools: readTools(request) }, conversation };
}

export async function generateTurn(request: GenerateRequest, context: ReadContext): Promise<ReadTurn> {
  const { prompt, system, images } = request;
  const pictures: readonly ImagePart[] = await loadImages(images ?? [], "images", context.images);
  const content = [{ type: "text", text: prompt } as const, ...pictures];
  const turn = { ...common(request, context), system: system ?? "", messages: [{ role: "user", content } as const] };
  return { turn, conversation: "" };
}

function common(request: ChatRequest | GenerateRequest, { principal }: ParseContext) {
  const { options, think, format } = request;
  const { stop, num_predict, repeat_penalty: repetition_penalty, ...sampling } = options ?? {};
  const effort = think === false ? "none" : typeof think === "string" ? think : undefined;
  return {
    principal,
    // Ollama's clients append the default tag to a name without one.
    model: { id: request.model.replace(/:latest$/, ""), effort },
    tools: [],
    toolChoice: { type: "auto" },
    allowsParallelCalls: true,
    stop: (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text !== ""),
    // A negative number means no limit.
    maxOutputTokens: num_predict && num_predict > 0 ? num_predict : undefined,
    output: readFormat(format),
    ...readSampling({ ...sampling, repetition_penalty }),
  } as const;
}

function readFormat(format: ChatRequest["format"]): OutputFormat {
  if (!format) return { type: "text" };
  if (typeof format === "string") return { type: "json" };
  return { type: "json-schema", name: "answer", schema: format, field: "format" };
}

function readTools({ tools }: ChatRequest): readonly ToolDefinition[] {
  const names = new Set<string>();
  return (tools ?? []).map(({ function: { name, description, parameters } }, index) => {
    if (names.has(name)) throw invalid(`tools[${index}].function.name`, "another tool has the same name");
    names.add(name);
    const schema = parameters ?? { type: "object", properties: {} };
    return { name, description: description ?? "", schema, field: `tools[${index}].function.parameters` };
  });
}

function countImages(request: ChatRequest | GenerateRequest): number {
  if (!("messages" in request)) return request.images?.length ?? 0;
  return request.messages.reduce((sum, message) => sum + ("images" in message ? (message.images?.length ?? 0) : 0), 0);
}
