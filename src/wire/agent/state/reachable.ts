import { fromBinary } from "@bufbuild/protobuf";
import {
  type ConversationStateStructure,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { UserMessageSchema } from "../../../gen/agent/v1/user_message_pb.ts";
import type { Blobs } from "./blobs.ts";

/** Returns all blob ids that a state refers to: the blobs to store with a checkpoint. */
export function* reachableIds(state: ConversationStateStructure, blobs: Blobs): Iterable<Uint8Array> {
  yield* state.rootPromptMessagesJson;
  yield* state.todos;
  yield* state.summaryArchives;
  for (const id of [state.summary, state.plan, state.summaryArchive]) if (id) yield id;
  for (const { content, initialContent } of Object.values(state.fileStatesV2)) {
    if (content) yield content;
    if (initialContent) yield initialContent;
  }
  yield* Object.values(state.fileStates);
  yield* Object.values(state.subagentStateRefs);
  for (const { conversationState } of Object.values(state.subagentStates)) {
    if (conversationState) yield* reachableIds(conversationState, blobs);
  }
  for (const id of state.turns) yield* reachableFromTurn(id, blobs);
}

function* reachableFromTurn(id: Uint8Array, blobs: Blobs): Iterable<Uint8Array> {
  yield id;
  const bytes = blobs.get(id);
  if (!bytes) return;
  const { turn } = fromBinary(ConversationTurnStructureSchema, bytes);
  if (turn.case === "shellConversationTurn") yield* [turn.value.shellCommand, turn.value.shellOutput];
  if (turn.case !== "agentConversationTurn") return;
  yield* turn.value.steps;
  yield turn.value.userMessage;
  const message = blobs.get(turn.value.userMessage);
  if (!message || message.length === 0) return;
  for (const image of fromBinary(UserMessageSchema, message).selectedContext?.selectedImages ?? []) {
    if (image.dataOrBlobId.case === "blobId") yield image.dataOrBlobId.value;
    if (image.dataOrBlobId.case === "blobIdWithData") yield image.dataOrBlobId.value.blobId;
  }
}
