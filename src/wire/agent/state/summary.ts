import { create, type DescField, toBinary } from "@bufbuild/protobuf";
import type { UserMessage } from "../../../core/turn.ts";
import {
  type ConversationStateStructure,
  ConversationSummaryArchiveSchema,
  ConversationSummarySchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { bytesField, encodeFields, textField } from "../encode-fields.ts";
import { type AddBlob, type BlobSource, hexId } from "./blobs.ts";
import { decodeBlob } from "./read-state.ts";
import { rootOf } from "./root-messages.ts";

/** A field of our own in `ConversationSummaryArchive`: the last turn that the summary covers. Clients keep archives as blobs. */
const LAST_TURN = { number: 1000 } as DescField;

/** The message that stands for the summarized part of a conversation. */
export const summaryMessage = (summary: string): UserMessage => ({
  role: "user",
  content: [{ type: "text", text: `Summary of the conversation so far:\n\n${summary}` }],
});

/** Returns the state after a summary: the model reads the summary instead of the turns, which stay for the user to see. */
export function summarizedState(
  before: ConversationStateStructure,
  summary: string,
  add: AddBlob,
): ConversationStateStructure {
  const root = add(Buffer.from(JSON.stringify(rootOf(summaryMessage(summary)))));
  const { summarizedMessages, summary: text, summaryMessage: message } = ConversationSummaryArchiveSchema.field;
  const archive = add(
    encodeFields(
      ...before.rootPromptMessagesJson.map((id) => bytesField(summarizedMessages, id)),
      textField(text, summary),
      bytesField(message, root),
      ...before.turns.slice(-1).map((id) => bytesField(LAST_TURN, id)),
    ),
  );
  return {
    ...before,
    rootPromptMessagesJson: [root],
    summary: add(toBinary(ConversationSummarySchema, create(ConversationSummarySchema, { summary }))),
    summaryArchive: archive,
    summaryArchives: [...before.summaryArchives, archive],
    selfSummaryCount: before.selfSummaryCount + 1,
  };
}

export interface ReadSummary {
  readonly message: UserMessage;
  /** The turns after the summary. */
  readonly laterTurns: readonly Uint8Array[];
}

/** Reads the summary of a state. Undefined if it has none of ours, or if the client has dropped it: the turns say everything. */
export async function readSummary(
  { summaryArchive, turns }: ConversationStateStructure,
  blobs: BlobSource,
): Promise<ReadSummary | undefined> {
  const bytes = summaryArchive?.length ? await blobs.get(summaryArchive) : undefined;
  if (!bytes) return undefined;
  const archive = decodeBlob(ConversationSummaryArchiveSchema, bytes, "conversation_state.summary_archive");
  // The data of an unknown field begins with its length, which is one byte for an id.
  const covered = archive.$unknown?.find(({ no }) => no === LAST_TURN.number)?.data.subarray(1);
  const last = covered ? turns.findLastIndex((id) => hexId(id) === hexId(covered)) : -1;
  return last < 0 ? undefined : { message: summaryMessage(archive.summary), laterTurns: turns.slice(last + 1) };
}
