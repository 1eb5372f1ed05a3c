import type { z } from "zod";
import type { OutputFormat, Turn } from "../../core/turn.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { ParseContext } from "../shared/face.ts";
import { checkCount, type RequestLimits } from "../shared/request-limits.ts";
import { readSampling } from "../shared/sampling.ts";
import { ignoredFields } from "./ignored.ts";
import { readEffort } from "./request/effort.ts";
import { countImages, readMessages } from "./request/messages.ts";
import { refuseThread } from "./request/refuse-thread.ts";
import { lastInstructionAsQuestion, readSystem } from "./request/system.ts";
import { readTools } from "./request/tools.ts";
import type { CountRequest, MessagesRequest } from "./schema.ts";

/** Parses a body. Throws the first problem. */
export function readRequest<T extends CountRequest>(schema: z.ZodType<T>, body: unknown, limits: RequestLimits): T {
  if (typeof body === "object" && body !== null) {
    const fields = body as Readonly<Record<string, unknown>>;
    checkCount("messages", fields["messages"], limits.maxMessages);
    checkCount("tools", fields["tools"], limits.maxTools);
    refuseThread(fields["thread"]);
  }
  const result = checkForm(schema, body);
  if (!result.success) throw invalidRequest(result.error, body);
  const images = countImages(result.data.messages);
  if (images > limits.maxImages)
    throw invalid("messages", `expected at most ${limits.maxImages} images, got ${images}`);
  return result.data;
}

export interface ReadTurn {
  readonly turn: Turn;
  readonly ignored: readonly string[];
}

/** `body` is the unparsed request; its other fields are reported as ignored. */
export async function toTurn(
  request: CountRequest & Partial<Omit<MessagesRequest, keyof CountRequest>>,
  body: unknown,
  { principal, images }: ParseContext,
): Promise<ReadTurn> {
  const asked = { ...request, messages: [...lastInstructionAsQuestion(request.messages)] };
  const { ignored, ...tools } = readTools(asked);
  const turn: Turn = {
    principal,
    model: { id: request.model, effort: readEffort(request) },
    ...tools,
    system: readSystem(asked),
    messages: await readMessages(asked.messages, images),
    stop: (request.stop_sequences ?? []).filter((text) => text !== ""),
    maxOutputTokens: request.max_tokens,
    output: readFormat(request),
    ...readSampling(request),
  };
  return { turn, ignored: [...ignoredFields(body as Readonly<Record<string, unknown>>), ...ignored] };
}

function readFormat({ output_config, output_format }: CountRequest): OutputFormat {
  const format = output_config?.format ?? output_format;
  if (!format) return { type: "text" };
  const field = output_config?.format ? "output_config.format.schema" : "output_format.schema";
  return { type: "json-schema", name: "answer", schema: format.schema, field };
}
