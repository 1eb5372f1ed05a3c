import type { ConversationAction } from "../../../gen/agent/v1/action_pb.ts";
import { AgentMode } from "../../../gen/agent/v1/agent_mode_pb.ts";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import { userMessagesOf } from "../../../wire/agent/read-run-request.ts";
import type { BlobSource } from "../../../wire/agent/state/blobs.ts";
import { openLastTurn } from "./state.ts";

/** What the user wants from a run. `ask` and `plan` change nothing. */
export type RunMode = "agent" | "ask" | "plan";

/** Returns the mode of the message that a run answers. A run that resumes answers the last message of its state. */
export async function modeOf(
  action: ConversationAction,
  state: ConversationStateStructure,
  blobs: BlobSource,
): Promise<RunMode> {
  const asked = userMessagesOf(action).at(-1) ?? (await openLastTurn(state, blobs)).asked;
  if (asked?.mode === AgentMode.ASK) return "ask";
  const isPlan = asked?.mode === AgentMode.PLAN || action.action.case === "startPlanAction";
  return isPlan ? "plan" : "agent";
}
