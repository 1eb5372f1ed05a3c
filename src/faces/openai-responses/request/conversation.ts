import { readArguments } from "../../../core/json/call-arguments.ts";
import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { Thought } from "../../../core/thinking/thoughts.ts";
import { type AssistantPart, type JsonObject, type Message, type Turn, textOf } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { separateTexts } from "../../shared/separate-texts.ts";
import { CallResults } from "../../shared/tools/call-results.ts";
import type { InputItem } from "./item-schema.ts";
import { loadParts, loadResult, partsOf, textsOf } from "./parts.ts";
import { TOOL_SEARCH, type Toolbox } from "./toolbox.ts";

/** An item with its place in the request, for error messages. */
export interface PlacedItem {
  readonly item: InputItem;
  readonly field: string;
}

export interface ReadContext {
  /** True if there is nothing to answer yet. */
  readonly isPrewarm?: boolean;
  readonly toolbox: Toolbox;
  readonly images: ImageLoader;
  /** Returns the original thinking of a reasoning item, or undefined if it is unknown. */
  readonly recall: (item: ReasoningItem, summary: string) => Thought | undefined;
}

type ReasoningItem = Extract<InputItem, { type: "reasoning" }>;

/** Converts items to a conversation and its instructions. Consecutive items of the model become one message. */
export async function readConversation(
  items: readonly PlacedItem[],
  context: ReadContext,
): Promise<Pick<Turn, "system" | "messages">> {
  const joined = joinOutputs(items);
  const asked = context.isPrewarm ? joined : lastInstructionAsQuestion(joined);
  const results = new CallResults();
  const system: string[] = [];
  // Images are loaded last, when everything else is known to be valid.
  const messages: (() => Message | Promise<Message>)[] = [];
  let said: AssistantPart[] | undefined;
  // The ids within one answer.
  const calls = new Set<string>();
  for (const { item, field } of asked) {
    if (item.type === "message" && isInstruction(item)) {
      system.push(textOf(separateTexts(textsOf(item.content).map((text) => ({ type: "text", text })))));
      continue;
    }
    const parts = assistantParts(item, context);
    if (parts) {
      for (const part of parts) {
        if (part.type !== "tool-call") continue;
        if (calls.has(part.id)) {
          throw invalid(`${field}.call_id`, "an earlier tool call of the same answer has this id");
        }
        calls.add(part.id);
        results.call(part.id);
      }
      if (said) {
        said.push(...parts);
        continue;
      }
      const content = parts;
      messages.push(() => ({ role: "assistant", content }));
      said = content;
      continue;
    }
    const message = otherMessage(item, field, results, context);
    if (!message) continue;
    messages.push(message);
    said = undefined;
    calls.clear();
  }
  if (messages.length === 0 && !context.isPrewarm)
    throw invalid("input", "expected a message: there is nothing to answer");
  if (said && !context.isPrewarm)
    throw invalid(asked.at(-1)?.field ?? "input", "the last item must be a user's message or a tool's output");
  return {
    system: system.filter((text) => text !== "").join("\n\n"),
    messages: await Promise.all(messages.map((load) => load())),
  };
}

/** Recalls the thinking of all reasoning items. */
export function recallAll(items: readonly PlacedItem[], recall: ReadContext["recall"]): void {
  for (const { item } of items) if (item.type === "reasoning") recall(item, summaryOf(item));
}

const summaryOf = ({ summary }: ReasoningItem): string => (summary ?? []).map(({ text }) => text).join("\n\n");

/** Returns the parts of an item that the model wrote, or undefined for any other item. */
function assistantParts(item: InputItem, { toolbox, recall }: ReadContext): AssistantPart[] | undefined {
  switch (item.type) {
    case "message":
      return item.role === "assistant" ? textsOf(item.content).map((text) => ({ type: "text", text })) : undefined;
    case "reasoning": {
      const summary = summaryOf(item);
      const thought = recall(item, summary) ?? { text: summary, signature: undefined };
      return thought.text === "" && thought.signature === undefined ? [] : [{ type: "thinking", ...thought }];
    }
    case "function_call":
      return [call(item.call_id, toolbox.nameFor(item.name, item.namespace), readArguments(item.arguments ?? ""))];
    case "custom_tool_call":
      return [call(item.call_id, toolbox.nameFor(item.name, item.namespace), { input: item.input })];
    case "tool_search_call": {
      const { call_id, arguments: args } = item;
      // Without an id the search ran at OpenAI, not at the client.
      if (!call_id) return [];
      return [call(call_id, TOOL_SEARCH, isJsonObject(args) ? args : {})];
    }
    default:
      return undefined;
  }
}

const call = (id: string, name: string, args: JsonObject) => ({ type: "tool-call", id, name, args }) as const;

function otherMessage(
  item: InputItem,
  field: string,
  results: CallResults,
  { images, toolbox }: ReadContext,
): (() => Promise<Message> | Message) | undefined {
  switch (item.type) {
    case "message":
      return async () => ({
        role: "user",
        content: separateTexts(await loadParts(item.content, `${field}.content`, images)),
      });
    case "function_call_output":
    case "custom_tool_call_output": {
      const { call_id: callId, output } = item;
      results.result(callId, `${field}.call_id`);
      const where = `${field}.output`;
      return async () => ({ role: "tool", callId, content: await loadResult(output, where, images), isError: false });
    }
    case "tool_search_output": {
      const { call_id: callId, tools } = item;
      if (!callId) return undefined;
      results.result(callId, `${field}.call_id`);
      const text = `These tools can be called from now on: ${namesIn(tools, toolbox).join(", ") || "none"}.`;
      return () => ({ role: "tool", callId, content: [{ type: "text", text }], isError: false });
    }
    default:
      return undefined;
  }
}

/** Merges repeated outputs of a custom tool into one result, in the place of the first. */
function joinOutputs(items: readonly PlacedItem[]): readonly PlacedItem[] {
  const places = new Map<string, number>();
  const joined: PlacedItem[] = [];
  for (const placed of items) {
    const { item } = placed;
    const at = item.type === "custom_tool_call_output" ? places.get(item.call_id) : undefined;
    const first = at === undefined ? undefined : joined[at];
    if (at !== undefined && first?.item.type === "custom_tool_call_output" && "output" in item) {
      const output = [...partsOf(first.item.output), ...partsOf(item.output)];
      joined[at] = { ...first, item: { ...first.item, output } };
      continue;
    }
    // Some clients reuse an id in a later answer.
    if (item.type === "custom_tool_call") places.delete(item.call_id);
    if (item.type === "custom_tool_call_output") places.set(item.call_id, joined.length);
    joined.push(placed);
  }
  return joined;
}

type FoundTools = Extract<InputItem, { type: "tool_search_output" }>["tools"];

const namesIn = (tools: FoundTools, toolbox: Toolbox): readonly string[] =>
  tools.flatMap((tool) => {
    if (tool.type === "function" || tool.type === "custom") return [toolbox.nameFor(tool.name, undefined)];
    if (tool.type !== "namespace") return [];
    return tool.tools.flatMap((inner) => (inner.type === "hosted" ? [] : [toolbox.nameFor(inner.name, tool.name)]));
  });

type MessageItem = Extract<InputItem, { type: "message" }>;

const isInstruction = ({ role }: MessageItem): boolean => role === "system" || role === "developer";

/** Turns a trailing instruction into a user message, if nothing else asks: it is alone or follows an answer. */
function lastInstructionAsQuestion(items: readonly PlacedItem[]): readonly PlacedItem[] {
  const last = items.at(-1);
  if (last?.item.type !== "message" || !isInstruction(last.item)) return items;
  const asker = items.findLast(({ item }) => item.type !== "message" || !isInstruction(item));
  const isAsked = asker?.item.type === "message" ? asker.item.role === "user" : asker?.item.type.endsWith("_output");
  if (isAsked) return items;
  return [...items.slice(0, -1), { ...last, item: { ...last.item, role: "user" } }];
}
