import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { type Fields, isOfType, listOf } from "./fields.ts";

export function fromResponsesBody(body: Fields): Fields {
  const { input, instructions, max_output_tokens, reasoning, ...rest } = body;
  const items = Array.isArray(input) ? input : [{ role: "user", content: input }];
  const system = typeof instructions === "string" ? [{ role: "system", content: instructions }] : [];
  const effort = isJsonObject(reasoning) ? reasoning["effort"] : undefined;
  return {
    max_tokens: max_output_tokens,
    reasoning_effort: effort,
    ...rest,
    messages: joinCalls([...system, ...items.flatMap(messageOf)]),
  };
}

function messageOf(item: unknown): unknown[] {
  if (isOfType(item, "reasoning", "item_reference")) return [];
  if (isOfType(item, "function_call", "custom_tool_call")) {
    const { call_id: id, name, arguments: args, input } = item;
    const json = item["type"] === "function_call" ? args : JSON.stringify({ input });
    return [
      { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: json } }] },
    ];
  }
  if (isOfType(item, "function_call_output", "custom_tool_call_output")) {
    return [{ role: "tool", tool_call_id: item["call_id"], content: item["output"] }];
  }
  return [item];
}

/** Merges calls into the preceding answer: Responses has them as separate items. */
function joinCalls(messages: readonly unknown[]): unknown[] {
  const joined: unknown[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    const isMore =
      isJsonObject(last) && last["role"] === "assistant" && isJsonObject(message) && message["content"] === null;
    if (!isMore) {
      joined.push(message);
      continue;
    }
    const calls = [...listOf(last["tool_calls"]), ...listOf(message["tool_calls"])];
    joined[joined.length - 1] = { ...last, tool_calls: calls };
  }
  return joined;
}
