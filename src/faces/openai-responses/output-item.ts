import type { JsonObject } from "../../core/turn.ts";
import type { ClientTool } from "./request/toolbox.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export const textPart = (text: string): JsonObject => ({ type: "output_text", text, annotations: [], logprobs: [] });

export const summaryPart = (text: string): JsonObject => ({ type: "summary_text", text });

export const messageItem = (id: string, status: ItemStatus, text?: string): JsonObject => ({
  id,
  type: "message",
  status,
  role: "assistant",
  content: text === undefined ? [] : [textPart(text)],
});

/** The status is only sent if the item was cut off. */
export const reasoningItem = (id: string, text?: string, sealed?: string, status?: ItemStatus): JsonObject => ({
  id,
  type: "reasoning",
  ...(status === "incomplete" && { status }),
  summary: text === undefined ? [] : [summaryPart(text)],
  ...(sealed !== undefined && { encrypted_content: sealed }),
});

/** A tool call of the model. */
export interface CallDraft {
  readonly itemId: string;
  readonly callId: string;
  readonly tool: ClientTool;
}

/** `written` is the arguments for the client: JSON, or the free text of a custom tool. */
export function callItem({ itemId, callId, tool }: CallDraft, status: ItemStatus, written: string): JsonObject {
  const { kind, name, namespace } = tool;
  const common = { id: itemId, call_id: callId, status };
  const called = { name, ...(namespace !== undefined && { namespace }) };
  switch (kind) {
    case "function":
      return { ...common, type: "function_call", ...called, arguments: written };
    case "custom":
      return { ...common, type: "custom_tool_call", ...called, input: written };
    case "tool-search":
      return { ...common, type: "tool_search_call", execution: "client", arguments: parsed(written) };
  }
}

const parsed = (json: string): JsonObject => (json === "" ? {} : (JSON.parse(json) as JsonObject));

/** Returns the free text of a custom tool. Falls back to another single argument, then to the JSON. */
export function inputOf(args: JsonObject): string {
  const { input } = args;
  if (typeof input === "string") return input;
  const [only, ...others] = Object.values(args);
  return typeof only === "string" && others.length === 0 ? only : JSON.stringify(args);
}

/** The events that carry a call's arguments. A tool search has none. */
export const CALL_EVENTS = {
  function: { name: "response.function_call_arguments", field: "arguments" },
  custom: { name: "response.custom_tool_call_input", field: "input" },
  "tool-search": undefined,
} as const satisfies Record<ClientTool["kind"], { readonly name: string; readonly field: string } | undefined>;

export const ID_PREFIXES = { function: "fc", custom: "ctc", "tool-search": "tsc" } as const;
