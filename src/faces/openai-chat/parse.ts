import type { OutputFormat, Turn } from "../../core/turn.ts";
import type { ParseContext } from "../face.ts";
import { invalid } from "../invalid.ts";
import { checkCount, type RequestLimits } from "../request-limits.ts";
import { invalidRequest } from "../schema-issue.ts";
import { countImages, readMessages } from "./messages.ts";
import { refuseUnsupported } from "./refusals.ts";
import { type ChatRequest, chatRequest } from "./schema.ts";
import { readTools } from "./tools.ts";

/** A body as a request, or the first thing that is wrong with it. */
export function readRequest(body: unknown, limits: RequestLimits): ChatRequest {
  if (typeof body === "object" && body !== null) {
    const fields = body as Readonly<Record<string, unknown>>;
    checkCount("messages", fields["messages"], limits.maxMessages);
    checkCount("tools", fields["tools"], limits.maxTools);
    refuseUnsupported(fields);
  }
  const result = chatRequest.safeParse(body);
  if (!result.success) throw invalidRequest(result.error, body);
  const images = countImages(result.data.messages);
  if (images > limits.maxImages)
    throw invalid("messages", `expected at most ${limits.maxImages} images, got ${images}`);
  return result.data;
}

export async function toTurn(request: ChatRequest, { principal, images }: ParseContext): Promise<Turn> {
  const { stop } = request;
  return {
    principal,
    model: { id: request.model, effort: request.reasoning_effort ?? undefined },
    ...readTools(request),
    ...(await readMessages(request.messages, images)),
    allowsParallelCalls: request.parallel_tool_calls ?? true,
    stop: (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text !== ""),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    output: readFormat(request.response_format),
  };
}

function readFormat(format: ChatRequest["response_format"]): OutputFormat {
  switch (format?.type) {
    case undefined:
    case "text":
      return { type: "text" };
    case "json_object":
      return { type: "json" };
    case "json_schema": {
      const { name, schema } = format.json_schema;
      return schema ? { type: "json-schema", name, schema } : { type: "json" };
    }
    default:
      return format satisfies never;
  }
}
