import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { ExcursorError } from "../../../core/errors.ts";
import type { Message } from "../../../core/turn.ts";
import {
  type AgentConversationTurnStructure,
  type ConversationStateStructure,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { ConversationStepSchema } from "../../../gen/agent/v1/tool_call_pb.ts";
import { UserMessageSchema } from "../../../gen/agent/v1/user_message_pb.ts";
import { BLOB_NOT_FOUND, type BlobSource, checkBlobId, needBlob } from "./blobs.ts";
import { rootIdsOf } from "./build-state.ts";
import { type HistoryMessage, parseRoot } from "./root-messages.ts";
import { readStep } from "./tool-step.ts";
import { readUserMessage } from "./user-message.ts";

/** Reads the root messages of a state. An entry that is not a message becomes text of the system. */
export async function readRoots(
  { rootPromptMessagesJson }: ConversationStateStructure,
  blobs: BlobSource,
): Promise<readonly HistoryMessage[]> {
  const roots = await Promise.all(
    rootPromptMessagesJson.map(async (id, index) => {
      const bytes = await needBlob(id, `conversation_state.root_prompt_messages_json[${index}]`, blobs);
      return parseRoot(bytes) ?? [{ role: "system" as const, text: Buffer.from(bytes).toString("utf8") }];
    }),
  );
  return roots.flat();
}

/**
 * Reads the turns of a state, oldest first: each as its messages, or as the error for a missing blob. `readUser` reads the
 * message that opened a turn.
 */
export const readTurns = (
  { turns }: Pick<ConversationStateStructure, "turns">,
  blobs: BlobSource,
  readUser = readUserMessage,
): Promise<readonly (readonly Message[] | ExcursorError)[]> =>
  Promise.all(turns.map((id, index) => readTurn(id, `conversation_state.turns[${index}]`, blobs, readUser)));

async function readTurn(
  id: Uint8Array,
  field: string,
  blobs: BlobSource,
  readUser: typeof readUserMessage,
): Promise<readonly Message[] | ExcursorError> {
  const need = async <D extends DescMessage>(schema: D, blobId: Uint8Array, at: string): Promise<MessageShape<D>> =>
    decodeBlob(schema, await needBlob(blobId, at, blobs), at);
  try {
    const { turn } = await need(ConversationTurnStructureSchema, id, field);
    if (turn.case !== "agentConversationTurn") return [];
    const { userMessage, steps } = turn.value;
    const asked =
      userMessage.length > 0
        ? [await readUser(await need(UserMessageSchema, userMessage, `${field}.user_message`), blobs)]
        : [];
    const exact = await readOwnRoots(turn.value, blobs);
    if (exact) return [...asked, ...exact];
    const done = await Promise.all(
      steps.map((step, index) => need(ConversationStepSchema, step, `${field}.steps[${index}]`)),
    );
    return [...asked, ...done.flatMap(readStep)];
  } catch (error) {
    if (error instanceof ExcursorError && error.code === BLOB_NOT_FOUND) return error;
    throw error;
  }
}

/**
 * Reads the answer of a turn from the root messages that it names: tool calls as the model made them, and thinking with its
 * signature. Returns undefined if it names none, or if the client has dropped one.
 */
async function readOwnRoots(
  turn: AgentConversationTurnStructure,
  blobs: BlobSource,
): Promise<readonly Message[] | undefined> {
  const ids = rootIdsOf(turn);
  if (ids.length === 0) return undefined;
  const roots = await Promise.all(ids.map((id) => blobs.get(id)));
  const messages: Message[] = [];
  for (const bytes of roots) {
    const parsed = bytes && parseRoot(bytes);
    if (!parsed) return undefined;
    messages.push(...parsed.filter((message) => message.role === "assistant" || message.role === "tool"));
  }
  return messages;
}

/** Decodes a blob. Throws `invalid-request` if it is something else. */
export function decodeBlob<D extends DescMessage>(schema: D, bytes: Uint8Array, field: string): MessageShape<D> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    const message = `${field}: the blob is not a ${schema.name}.`;
    throw new ExcursorError("blob_unreadable", message, { field, cause });
  }
}

/** Checks the ids of a state that {@link readRoots} and {@link readTurns} do not follow. */
export function checkOtherIds(state: ConversationStateStructure, blobs: BlobSource): void {
  const lists = { todos: state.todos, summary_archives: state.summaryArchives };
  for (const [name, ids] of Object.entries(lists)) {
    for (const [index, id] of ids.entries()) checkBlobId(id, `conversation_state.${name}[${index}]`, blobs);
  }
  const single = { summary: state.summary, plan: state.plan, summary_archive: state.summaryArchive };
  for (const [name, id] of Object.entries(single)) {
    if (id?.length) checkBlobId(id, `conversation_state.${name}`, blobs);
  }
  for (const [path, { content, initialContent }] of Object.entries(state.fileStatesV2)) {
    for (const id of [content, initialContent]) {
      if (id?.length) checkBlobId(id, `conversation_state.file_states_v2[${path}]`, blobs);
    }
  }
}
