import type { JsonObject, OutputFormat, Turn } from "../../core/turn.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { ParseContext } from "../shared/face.ts";
import { checkCount, type RequestLimits } from "../shared/request-limits.ts";
import { readSampling } from "../shared/sampling.ts";
import { normalise } from "./odd/normalise.ts";
import { refuseUnsupported } from "./refusals.ts";
import { countImages, readMessages } from "./request/messages.ts";
import { readTools } from "./request/tools.ts";
import { type ChatRequest, chatRequest } from "./schema.ts";
import type { ReturnContext } from "./thinking/returned-thinking.ts";

export interface ReadRequest {
  readonly request: ChatRequest;
  /** The names of tools that take free text instead of JSON. */
  readonly customTools: ReadonlySet<string>;
}

/** Parses a body. Throws the first problem. */
export function readRequest(given: unknown, limits: RequestLimits): ReadRequest {
  checkCounts(given, limits);
  const { body, customTools } = normalise(given);
  checkCounts(body, limits);
  if (typeof body === "object" && body !== null) refuseUnsupported(body as Readonly<Record<string, unknown>>);
  const result = checkForm(chatRequest, body);
  if (!result.success) throw invalidRequest(result.error, body);
  const images = countImages(result.data.messages);
  if (images > limits.maxImages)
    throw invalid("messages", `expected at most ${limits.maxImages} images, got ${images}`);
  return { request: result.data, customTools };
}

function checkCounts(body: unknown, limits: RequestLimits): void {
  if (typeof body !== "object" || body === null) return;
  const fields = body as Readonly<Record<string, unknown>>;
  checkCount("messages", fields["messages"], limits.maxMessages);
  checkCount("tools", fields["tools"], limits.maxTools);
}

export async function toTurn(
  request: ChatRequest,
  { principal, images }: ParseContext,
  returned: ReturnContext,
): Promise<Turn> {
  const { stop } = request;
  return {
    principal,
    model: { id: request.model, effort: request.reasoning_effort ?? undefined },
    ...readTools(request),
    ...(await readMessages(request.messages, images, returned)),
    allowsParallelCalls: request.parallel_tool_calls ?? true,
    stop: (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text !== ""),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    output: readFormat(request.response_format),
    ...readSampling(request),
  };
}

function readFormat(format: ChatRequest["response_format"]): OutputFormat {
  switch (format?.type) {
    case undefined:
    case "text":
      return { type: "text" };
    case "json_object":
      return format.schema ? unwrapped(format.schema) : { type: "json" };
    case "json_schema": {
      const { json_schema: wrapped } = format;
      if (wrapped?.schema) {
        const { name, schema } = wrapped;
        return { type: "json-schema", name, schema, field: "response_format.json_schema.schema" };
      }
      if (format.schema) return unwrapped(format.schema, wrapped?.name ?? format.name);
      if (!wrapped) throw invalid("response_format.json_schema", "expected an object, got nothing");
      return { type: "json" };
    }
    default:
      return format satisfies never;
  }
}

/** Returns the format for a schema beside `type`. */
const unwrapped = (schema: JsonObject, name?: string | null): OutputFormat => ({
  type: "json-schema",
  name: name ?? "answer",
  schema,
  field: "response_format.schema",
});
