import { fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type ConversationStateStructure,
  ConversationTurnStructureSchema,
} from "../../gen/agent/v1/conversation_pb.ts";
import type { SelectedImage } from "../../gen/agent/v1/selected_context_pb.ts";
import { ConversationStepSchema, type ToolCall, ToolCallSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import { type UserMessage, UserMessageSchema } from "../../gen/agent/v1/user_message_pb.ts";
import { ConnectFailure } from "../connect-failure.ts";
import type { Call, Image, Message } from "../script/conversation.ts";
import { describeImage } from "./image.ts";
import { parseRootMessage, unwrapUserQuery } from "./root-message.ts";

/** Where the bytes behind blob ids come from. */
export interface BlobSource {
  /** Undefined if the client does not have it. */
  get(id: Uint8Array): Promise<Uint8Array | undefined>;
  /** Told of an id that cannot be one; throws where that is not let pass. */
  reject(field: string, problem: string): void;
}

export interface History {
  readonly messages: readonly Message[];
  /** The prompt entries hold it all; otherwise it had to be read from the turns. */
  readonly isInRoots: boolean;
}

/**
 * Reads a conversation out of the blobs that its state refers to. The prompt is built from the root messages.
 * Clients that write their history only into turns are understood, too; whichever is used must be complete.
 */
export async function readHistory(state: ConversationStateStructure, blobs: BlobSource): Promise<History> {
  checkIds(state, blobs);
  const [messages, turns] = await Promise.all([
    Promise.all(
      state.rootPromptMessagesJson.map(async (id, index) => {
        const bytes = await fetchBlob(id, `conversation_state.root_prompt_messages_json[${index}]`, blobs);
        return readRoot(bytes ?? notFound(id));
      }),
    ),
    Promise.all(state.turns.map((id, index) => readTurn(id, `conversation_state.turns[${index}]`, blobs))),
  ]);
  const isInRoots = turns.length === 0 || messages.some((message) => message.role !== "system");
  if (isInRoots) return { messages: withCalls(messages, turns.at(-1)), isInRoots };
  return {
    messages: [...messages, ...turns.flatMap((turn) => (turn instanceof ConnectFailure ? fail(turn) : turn))],
    isInRoots,
  };
}

/**
 * The roots with the last turn as `turns` tells it, if only that has its calls: some clients put calls into the roots
 * as prose, which only a model can read, and what a turn has called says how far it got.
 */
function withCalls(roots: readonly Message[], lastTurn: Message[] | ConnectFailure | undefined): readonly Message[] {
  if (!Array.isArray(lastTurn) || !lastTurn.some(hasCalls)) return roots;
  const [asked] = lastTurn;
  const start = roots.findLastIndex(
    (root) => root.role === "user" && asked?.role === "user" && root.text === asked.text,
  );
  return start === -1 || roots.slice(start).some(hasCalls) ? roots : [...roots.slice(0, start), ...lastTurn];
}

const hasCalls = (message: Message): boolean => message.role === "assistant" && message.calls.length > 0;

/** What cannot be read as a message is still there, and holds its place. */
const readRoot = (bytes: Uint8Array): Message =>
  parseRootMessage(bytes) ?? { role: "system", text: Buffer.from(bytes).toString("utf8") };

async function fetchBlob(id: Uint8Array, field: string, blobs: BlobSource): Promise<Uint8Array | undefined> {
  checkId(id, field, blobs);
  return blobs.get(id);
}

function checkId(id: Uint8Array, field: string, blobs: BlobSource): void {
  if (id.length !== 32) blobs.reject(field, `a blob id has 32 bytes, this has ${id.length}: ${blobNotFound(id)}`);
}

/** The ids of a state that nobody here follows must be ids all the same. */
function checkIds(state: ConversationStateStructure, blobs: BlobSource): void {
  const lists = { todos: state.todos, summary_archives: state.summaryArchives };
  for (const [name, ids] of Object.entries(lists)) {
    ids.forEach((id, index) => {
      checkId(id, `conversation_state.${name}[${index}]`, blobs);
    });
  }
  const single = { summary: state.summary, plan: state.plan, summary_archive: state.summaryArchive };
  for (const [name, id] of Object.entries(single)) {
    if (id && id.length > 0) checkId(id, `conversation_state.${name}`, blobs);
  }
  for (const [path, { content, initialContent }] of Object.entries(state.fileStatesV2)) {
    for (const id of [content, initialContent]) {
      if (id && id.length > 0) checkId(id, `conversation_state.file_states_v2[${path}]`, blobs);
    }
  }
}

/** A missing blob matters only if the turn is needed: it is returned, not thrown. */
async function readTurn(id: Uint8Array, field: string, blobs: BlobSource): Promise<Message[] | ConnectFailure> {
  const need = async (blobId: Uint8Array, name: string) =>
    (await fetchBlob(blobId, `${field}.${name}`, blobs)) ?? notFound(blobId);
  try {
    const bytes = await fetchBlob(id, field, blobs);
    const { turn } = fromBinary(ConversationTurnStructureSchema, bytes ?? notFound(id));
    if (turn.case !== "agentConversationTurn") return [];
    const { userMessage, steps } = turn.value;
    const messages: Message[] = [];
    if (userMessage.length > 0) {
      const message = fromBinary(UserMessageSchema, await need(userMessage, "user_message"));
      messages.push(await readUserMessage(message, blobs));
    }
    const contents = await Promise.all(steps.map((step, index) => need(step, `steps[${index}]`)));
    messages.push(...contents.flatMap(readStep));
    return messages;
  } catch (error) {
    if (error instanceof BlobNotFound) return error;
    throw error;
  }
}

function readStep(bytes: Uint8Array): Message[] {
  const { message } = fromBinary(ConversationStepSchema, bytes);
  switch (message.case) {
    case "assistantMessage":
      return [{ role: "assistant", text: message.value.text, calls: [] }];
    case "toolCall":
      return readToolCall(message.value);
    default:
      return [];
  }
}

function readToolCall(toolCall: ToolCall): Message[] {
  const { tool } = toolCall;
  if (tool.case !== "mcpToolCall") {
    const json = toJson(ToolCallSchema, toolCall) as Record<string, { args?: JsonObject; result?: JsonObject }>;
    const member = tool.case === undefined ? undefined : json[tool.case];
    const id = toolCall.toolCallId ?? "";
    const call: Call = { id, name: tool.case?.replace(/ToolCall$/, "") ?? "unknown", args: member?.args ?? {} };
    const text = member?.result && JSON.stringify(member.result);
    const result: Message[] = text === undefined ? [] : [{ role: "tool", results: [{ callId: id, text }] }];
    return [{ role: "assistant", text: "", calls: [call] }, ...result];
  }
  const { args, result } = tool.value;
  const entries = Object.entries(args?.args ?? {}).map(([key, value]) => [key, toJson(ValueSchema, value)]);
  const id = args?.toolCallId ?? "";
  const call: Call = { id, name: args?.toolName || args?.name || "", args: Object.fromEntries(entries) as JsonObject };
  const text =
    result?.result.case === "success"
      ? result.result.value.content.map(({ content }) => (content.case === "text" ? content.value.text : "")).join("\n")
      : result?.result.case === "error"
        ? result.result.value.error
        : undefined;
  const answer: Message[] = text === undefined ? [] : [{ role: "tool", results: [{ callId: id, text }] }];
  return [{ role: "assistant", text: "", calls: [call] }, ...answer];
}

/** A user message with its images; long texts and images may have been moved into blobs. */
export async function readUserMessage(message: UserMessage, blobs: BlobSource): Promise<Message & { role: "user" }> {
  const { textBlobId } = message;
  const need = async (id: Uint8Array, field: string) =>
    (await fetchBlob(id, `user_message.${field}`, blobs)) ?? notFound(id);
  const moved = textBlobId && textBlobId.length > 0 ? await need(textBlobId, "text_blob_id") : undefined;
  const text = moved ? Buffer.from(moved).toString("utf8") : message.text;
  const images = (message.selectedContext?.selectedImages ?? []).map((image, index) =>
    readImage(image, (id) => need(id, `selected_context.selected_images[${index}].blob_id`)),
  );
  return { role: "user", text: unwrapUserQuery(text), images: await Promise.all(images) };
}

async function readImage(
  { dataOrBlobId: source, mimeType }: SelectedImage,
  need: (id: Uint8Array) => Promise<Uint8Array>,
): Promise<Image> {
  switch (source.case) {
    case "data":
      return describeImage(source.value, mimeType);
    case "blobIdWithData":
      return describeImage(source.value.data, mimeType);
    case "blobId":
      return describeImage(await need(source.value), mimeType);
    default:
      return describeImage(new Uint8Array(), mimeType);
  }
}

class BlobNotFound extends ConnectFailure {}

const blobNotFound = (id: Uint8Array): string => `Blob not found: ${id.join(",")}`;

const notFound = (id: Uint8Array): never => fail(new BlobNotFound("internal", blobNotFound(id)));

function fail(failure: ConnectFailure): never {
  throw failure;
}
