import type { Ignorable } from "../../core/notices/ignored.ts";
import { spellToolName } from "../../core/spell-tool-name.ts";
import type { JsonObject, ToolChoice, Turn } from "../../core/turn.ts";
import type { ApiRequest } from "../shared/api/api-run.ts";
import { apiMessages } from "./messages.ts";
import type { AnthropicModel } from "./models.ts";
import { planSampling } from "./sampling.ts";
import { planThinking } from "./thinking.ts";

export interface RequestOptions {
  /** The upstream's name. */
  readonly modelId: string;
  readonly model: AnthropicModel | undefined;
  readonly effort: string | undefined;
}

const CACHE = { cache_control: { type: "ephemeral" } } as const;

/** Returns the request of `POST /v1/messages` for a turn. */
export function messagesRequest(turn: Turn, { modelId, model, effort }: RequestOptions): ApiRequest {
  const thinking = planThinking(turn, effort, model);
  const sampling = planSampling(turn.sampling, thinking.isOn);
  const ignored: readonly Ignorable[] = turn.model.effort && !thinking.takesEffort ? ["effort"] : [];
  const messages = apiMessages(turn.messages, thinking.keepsThoughts);
  const tools = turn.tools.length > 0 ? turn.tools : calledBefore(turn);
  const hasTools = tools.length > 0;
  const body = {
    model: modelId,
    stream: true,
    ...thinking.fields,
    ...sampling.fields,
    ...(turn.system.trim() !== "" && { system: [{ type: "text", text: turn.system, ...(hasTools && CACHE) }] }),
    messages: hasTools ? cachedToTheEnd(messages) : messages,
    ...(hasTools && { tools: tools.map(toolObject), tool_choice: choiceObject(turn, thinking.isOn) }),
  };
  return { body, ignored: [...ignored, ...sampling.ignored] };
}

const toolObject = ({ name, description, schema }: Turn["tools"][number]): JsonObject => ({
  name: spellToolName(name),
  ...(description !== "" && { description }),
  input_schema: { type: "object", ...schema },
});

/**
 * Returns dummy tools for the calls in the conversation, which the API refuses without tools. They are offered with
 * `tool_choice: none`.
 */
const calledBefore = ({ messages }: Turn): Turn["tools"] => {
  const calls = messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.flatMap((part) => (part.type === "tool-call" ? [part.name] : [])) : [],
  );
  return [...new Set(calls)].map((name) => ({ name, description: "", schema: {} }));
};

/** Returns the tool choice. A thinking model cannot be forced to call a tool; the engine then asks again. */
function choiceObject({ tools, toolChoice, allowsParallelCalls }: Turn, isThinking: boolean): JsonObject {
  if (tools.length === 0) return { type: "none" };
  const choice = isThinking && toolChoice.type !== "none" ? ({ type: "auto" } as const) : toolChoice;
  if (choice.type === "none") return { type: "none" };
  return { ...wordsFor(choice), ...(!allowsParallelCalls && { disable_parallel_tool_use: true }) };
}

function wordsFor(choice: ToolChoice): JsonObject {
  if (choice.type === "tool") return { type: "tool", name: spellToolName(choice.name) };
  return { type: choice.type === "required" ? "any" : choice.type };
}

/** Marks the end of the conversation for the cache, since agents resend it and cached input is cheap. */
function cachedToTheEnd(messages: readonly JsonObject[]): readonly JsonObject[] {
  const last = messages.at(-1);
  const content = last?.["content"] as readonly JsonObject[] | undefined;
  const block = content?.at(-1);
  if (!last || !content || !block) return messages;
  return [...messages.slice(0, -1), { ...last, content: [...content.slice(0, -1), { ...block, ...CACHE }] }];
}
