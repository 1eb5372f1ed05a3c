import type { Ignorable } from "../../../core/notices/ignored.ts";
import { pickSampling } from "../../../core/sampling.ts";
import { spellToolName } from "../../../core/spell-tool-name.ts";
import type { JsonObject, ToolChoice, Turn } from "../../../core/turn.ts";
import type { ApiRequest } from "../../shared/api/api-run.ts";
import { inputItems } from "./items.ts";

export interface ResponsesRequestOptions {
  /** The upstream's name. */
  readonly modelId: string;
  readonly effort: string | undefined;
  /** Whether the model can be asked for its reasoning. */
  readonly isReasoning: boolean;
}

/** Efforts with another name at the upstream. */
const EFFORTS: Readonly<Record<string, string>> = { max: "xhigh" };

/**
 * Returns the request of `POST /responses` for a turn. The upstream stores nothing, so the encrypted reasoning is asked
 * for, and sent back with the next request.
 */
export function responsesRequest(turn: Turn, { modelId, effort, isReasoning }: ResponsesRequestOptions): ApiRequest {
  const { tools, maxOutputTokens } = turn;
  const sampling = pickSampling(turn.sampling, ["temperature", "top_p"]);
  const given = effort === undefined ? undefined : (EFFORTS[effort] ?? effort);
  const isLost = given !== effort || !isReasoning;
  const ignored: readonly Ignorable[] = turn.model.effort !== undefined && isLost ? ["effort"] : [];
  const hasTools = tools.length > 0;
  const body = {
    model: modelId,
    input: inputItems(turn.messages),
    stream: true,
    store: false,
    ...(turn.system !== "" && { instructions: turn.system }),
    ...(isReasoning && {
      include: ["reasoning.encrypted_content"],
      reasoning: { summary: "auto", ...(given !== undefined && { effort: given }) },
    }),
    ...sampling.fields,
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(hasTools && { tools: tools.map(toolObject), tool_choice: choiceObject(turn.toolChoice) }),
    ...(hasTools && !turn.allowsParallelCalls && { parallel_tool_calls: false }),
  };
  return { body, ignored: [...ignored, ...sampling.ignored] };
}

/** Not strict: strict mode allows only a part of JSON Schema. */
const toolObject = ({ name, description, schema }: Turn["tools"][number]): JsonObject => ({
  type: "function",
  name: spellToolName(name),
  ...(description !== "" && { description }),
  parameters: schema,
  strict: false,
});

const choiceObject = (choice: ToolChoice): string | JsonObject =>
  choice.type === "tool" ? { type: "function", name: spellToolName(choice.name) } : choice.type;
