import type * as openai from "openai/resources/responses/responses";
import type { JsonObject } from "../../core/turn.ts";
import type { Official } from "../shared/official.ts";
import type { ClientTool } from "./request/toolbox.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type OutputItem = Official<openai.ResponseOutputItem>;

export const textPart = (text: string) =>
  ({ type: "output_text", text, annotations: [], logprobs: [] }) satisfies Official<openai.ResponseOutputText>;

export const summaryPart = (text: string) => ({ type: "summary_text", text }) as const;

export const messageItem = (id: string, status: ItemStatus, text?: string): Official<openai.ResponseOutputMessage> => ({
  id,
  type: "message",
  status,
  role: "assistant",
  content: text === undefined ? [] : [textPart(text)],
});

/** The status is only sent if the item was cut off. */
export const reasoningItem = (
  id: string,
  text?: string,
  sealed?: string,
  status?: ItemStatus,
): Official<openai.ResponseReasoningItem> => ({
  id,
  type: "reasoning",
  content: [],
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
export function callItem({ itemId, callId, tool }: CallDraft, status: ItemStatus, written: string): OutputItem {
  const { kind, name, namespace } = tool;
  const common = { id: itemId, call_id: callId };
  const called = { name, ...(namespace !== undefined && { namespace }) };
  switch (kind) {
    case "function":
      return { ...common, type: "function_call", status, ...called, arguments: written };
    case "custom":
      return { ...common, type: "custom_tool_call", ...called, input: written };
    case "tool-search":
      return { ...common, type: "tool_search_call", status, execution: "client", arguments: parsed(written) };
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

export const ID_PREFIXES = { function: "fc", custom: "ctc", "tool-search": "tsc" } as const;
