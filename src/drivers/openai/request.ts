import type { Ignorable } from "../../core/notices/ignored.ts";
import { pickSampling, SAMPLING_NAMES, type SamplingName } from "../../core/sampling.ts";
import { spellToolName } from "../../core/spell-tool-name.ts";
import type { JsonObject, ToolChoice, Turn } from "../../core/turn.ts";
import type { ApiRequest } from "../shared/api/api-run.ts";
import { apiMessages } from "./messages.ts";

export interface RequestOptions {
  /** The upstream's name. */
  readonly modelId: string;
  readonly effort: string | undefined;
  /** True for OpenAI itself. Compatible servers lack newer fields and have some of their own. */
  readonly isOpenAi: boolean;
}

/** Efforts with another name at the upstream. */
const OPENAI_EFFORTS: Readonly<Record<string, string>> = { max: "xhigh" };
const COMMON_EFFORTS: Readonly<Record<string, string>> = { minimal: "low", xhigh: "high", max: "high" };

/** OpenAI refuses the other options. */
const OPENAI_SAMPLING: readonly SamplingName[] = [
  "temperature",
  "top_p",
  "seed",
  "presence_penalty",
  "frequency_penalty",
];

/** Returns the request of `POST /chat/completions` for a turn. */
export function chatRequest(turn: Turn, { modelId, effort, isOpenAi }: RequestOptions): ApiRequest {
  const { tools, maxOutputTokens } = turn;
  const sampling = pickSampling(turn.sampling, isOpenAi ? OPENAI_SAMPLING : SAMPLING_NAMES);
  const given = effort === undefined ? undefined : ((isOpenAi ? OPENAI_EFFORTS : COMMON_EFFORTS)[effort] ?? effort);
  const ignored: readonly Ignorable[] = turn.model.effort !== undefined && given !== effort ? ["effort"] : [];
  const hasTools = tools.length > 0;
  const body = {
    model: modelId,
    messages: apiMessages(turn.messages, turn.system, !isOpenAi),
    stream: true,
    stream_options: { include_usage: true },
    ...(given !== undefined && { reasoning_effort: given }),
    ...sampling.fields,
    ...(maxOutputTokens !== undefined && { [isOpenAi ? "max_completion_tokens" : "max_tokens"]: maxOutputTokens }),
    ...(hasTools && { tools: tools.map(toolObject), tool_choice: choiceObject(turn.toolChoice) }),
    ...(hasTools && !turn.allowsParallelCalls && { parallel_tool_calls: false }),
  };
  return { body, ignored: [...ignored, ...sampling.ignored] };
}

const toolObject = ({ name, description, schema }: Turn["tools"][number]): JsonObject => ({
  type: "function",
  function: { name: spellToolName(name), ...(description !== "" && { description }), parameters: schema },
});

const choiceObject = (choice: ToolChoice): string | JsonObject =>
  choice.type === "tool" ? { type: "function", function: { name: spellToolName(choice.name) } } : choice.type;
