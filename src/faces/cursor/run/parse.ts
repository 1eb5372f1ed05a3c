import { ExcursorError } from "../../../core/errors.ts";
import type { Message, Principal, ToolDefinition, Turn, UserMessage } from "../../../core/turn.ts";
import type { ConversationAction } from "../../../gen/agent/v1/action_pb.ts";
import type { AgentRunRequest } from "../../../gen/agent/v1/run_pb.ts";
import type { UserMessage as WireUserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import { requestedModel } from "../../../wire/agent/read-run-request.ts";
import type { BlobSource } from "../../../wire/agent/state/blobs.ts";
import { readPlainHistory } from "../../../wire/agent/state/read-plain-history.ts";
import { readUserMessage } from "../../../wire/agent/state/user-message.ts";
import { selectedText } from "./selected-context.ts";

/** Reads a message of the user, with everything that is attached to it. */
export async function readAsked(message: WireUserMessage, blobs: BlobSource): Promise<UserMessage> {
  const read = await readUserMessage(message, blobs);
  const attached = await selectedText(message.selectedContext, blobs);
  return attached === ""
    ? read
    : { role: "user", content: [{ type: "text", text: `${attached}\n\n` }, ...read.content] };
}

/** Reads the history that some clients send beside the message, if the state has none. */
export const besides = ({ action }: ConversationAction): readonly Message[] =>
  action.case === "userMessageAction" ? readPlainHistory(action.value.conversationHistory) : [];

/** Returns the action of a run. */
export function actionOf({ action }: AgentRunRequest): ConversationAction {
  if (!action?.action.case) throw new ExcursorError("invalid-request", "run_request.action is missing.");
  return action;
}

/** Returns the effort that the client chose, by any of the names that its model parameters have for it. */
export function effortOf(request: AgentRunRequest): string | undefined {
  const { parameters } = requestedModel(request);
  return (
    parameters.find(({ id }) => id === "effort" || id === "reasoning" || id === "reasoning_effort")?.value || undefined
  );
}

export interface TurnParts {
  readonly principal: Principal;
  readonly model: string;
  readonly effort: string | undefined;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
}

export const turnOf = ({ principal, model, effort, system, tools }: TurnParts, messages: readonly Message[]): Turn => ({
  principal,
  model: { id: model, effort },
  system,
  messages,
  tools,
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
  showsActivity: true,
});
