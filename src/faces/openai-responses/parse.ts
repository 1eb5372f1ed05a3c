import type { OutputFormat, Turn } from "../../core/turn.ts";
import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { ParseContext } from "../shared/face.ts";
import { checkCount, type RequestLimits } from "../shared/request-limits.ts";
import { readSampling } from "../shared/sampling.ts";
import type { Body } from "../shared/unsupported-fields.ts";
import { refuseUnsupported } from "./refusals.ts";
import { type PlacedItem, type ReadContext, readConversation } from "./request/conversation.ts";
import { chooseTools } from "./request/tool-choice.ts";
import { Toolbox } from "./request/toolbox.ts";
import { type ResponsesRequest, responsesRequest } from "./schema.ts";

/** Parses a body. Throws the first problem. */
export function readRequest(body: unknown, limits: RequestLimits): ResponsesRequest {
  if (typeof body === "object" && body !== null) {
    const fields = body as Body;
    checkCount("input", fields["input"], limits.maxMessages);
    checkCount("tools", fields["tools"], limits.maxTools);
    refuseUnsupported(fields);
  }
  const result = checkForm(responsesRequest, body);
  if (!result.success) throw invalidRequest(result.error, body);
  return result.data;
}

export function readTools(request: ResponsesRequest, items: readonly PlacedItem[], limits: RequestLimits): Toolbox {
  const toolbox = new Toolbox();
  toolbox.add(request.tools ?? []);
  for (const { item, field } of items) {
    if (item.type === "additional_tools" || item.type === "tool_search_output") toolbox.bring(item.tools, field);
  }
  if (toolbox.size > limits.maxTools) {
    throw invalid("tools", `expected at most ${limits.maxTools}, got ${toolbox.size}`);
  }
  return toolbox;
}

export function checkItems(items: readonly PlacedItem[], { maxMessages, maxImages }: RequestLimits): void {
  checkCount("input", items, maxMessages);
  const images = items.reduce((count, { item }) => count + imagesIn(item), 0);
  if (images > maxImages) throw invalid("input", `expected at most ${maxImages} images, got ${images}`);
}

function imagesIn(item: PlacedItem["item"]): number {
  const content = "content" in item ? item.content : "output" in item ? item.output : "";
  return typeof content === "string" ? 0 : content.filter(({ type }) => type === "input_image").length;
}

export async function toTurn(
  request: ResponsesRequest,
  items: readonly PlacedItem[],
  toolbox: Toolbox,
  read: Pick<ReadContext, "recall" | "isPrewarm">,
  { principal, images }: ParseContext,
): Promise<Turn> {
  const { system, messages } = await readConversation(items, { toolbox, images, ...read });
  return {
    principal,
    model: { id: request.model, effort: request.reasoning?.effort ?? undefined },
    ...chooseTools(request.tool_choice ?? "auto", toolbox),
    system: [request.instructions ?? "", system].filter((text) => text !== "").join("\n\n"),
    messages,
    allowsParallelCalls: request.parallel_tool_calls ?? true,
    stop: [],
    maxOutputTokens: request.max_output_tokens ?? undefined,
    output: readFormat(request.text?.format),
    ...readSampling(request),
  };
}

function readFormat(format: NonNullable<ResponsesRequest["text"]>["format"]): OutputFormat {
  switch (format?.type) {
    case undefined:
    case "text":
      return { type: "text" };
    case "json_object":
      return { type: "json" };
    case "json_schema":
      return { type: "json-schema", name: format.name, schema: format.schema, field: "text.format.schema" };
    default:
      return format satisfies never;
  }
}
