import type { JsonObject, ToolChoice, Turn } from "../../core/turn.ts";
import { wireToolName } from "../cursor/tool-names.ts";
import { apiMessages } from "./messages.ts";

export interface RequestOptions {
  /** The upstream's name for it. */
  readonly modelId: string;
  readonly effort: string | undefined;
  /** OpenAI itself; others speak its language as it once was, with fields of their own. */
  readonly isOpenAi: boolean;
}

/** Efforts that have another name there. */
const OPENAI_EFFORTS: Readonly<Record<string, string>> = { max: "xhigh" };
const COMMON_EFFORTS: Readonly<Record<string, string>> = { minimal: "low", xhigh: "high", max: "high" };

/** The body of `POST /chat/completions` for a turn. */
export function chatBody(turn: Turn, { modelId, effort, isOpenAi }: RequestOptions): JsonObject {
  const { tools, maxOutputTokens } = turn;
  const hasTools = tools.length > 0;
  return {
    model: modelId,
    messages: apiMessages(turn.messages, turn.system, !isOpenAi),
    stream: true,
    stream_options: { include_usage: true },
    ...(effort !== undefined && { reasoning_effort: (isOpenAi ? OPENAI_EFFORTS : COMMON_EFFORTS)[effort] ?? effort }),
    ...(maxOutputTokens !== undefined && { [isOpenAi ? "max_completion_tokens" : "max_tokens"]: maxOutputTokens }),
    ...(hasTools && { tools: tools.map(toolObject), tool_choice: choiceObject(turn.toolChoice) }),
    ...(hasTools && !turn.allowsParallelCalls && { parallel_tool_calls: false }),
  };
}

const toolObject = ({ name, description, schema }: Turn["tools"][number]): JsonObject => ({
  type: "function",
  function: { name: wireToolName(name), ...(description !== "" && { description }), parameters: schema },
});

const choiceObject = (choice: ToolChoice): string | JsonObject =>
  choice.type === "tool" ? { type: "function", function: { name: wireToolName(choice.name) } } : choice.type;
