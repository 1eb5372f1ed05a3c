import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { AssistantPart, JsonObject, ToolMessage } from "../../../core/turn.ts";
import { type ConversationStateStructure, TokenDetailsSchema } from "../../../gen/agent/v1/conversation_pb.ts";
import { ConversationStepSchema, type ToolCall } from "../../../gen/agent/v1/tool_call_pb.ts";
import type { UserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import type { AddBlob } from "./blobs.ts";
import { addTurn, turnsOf } from "./build-state.ts";
import { type HistoryMessage, rootOf } from "./root-messages.ts";
import { encodeUserMessage } from "./user-message.ts";

type Entry =
  | { readonly type: "user"; readonly message: UserMessage; readonly text: string }
  | { readonly type: "text"; text: string }
  | { readonly type: "thinking"; text: string; durationMs: number; signature?: string | undefined }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly args: JsonObject;
      /** Calls of one batch were made together. */
      readonly batch: number;
      display: ToolCall;
      result?: Pick<ToolMessage, "content" | "isError">;
    };

const isOpen = (entry: Entry): boolean => entry.type === "call" && !entry.result;

/** Tokens in the model's window, and its size. */
interface WindowTokens {
  readonly used: number;
  readonly max: number;
}

/** Records a run on the server's side, and builds the states after it. */
export class Transcript {
  readonly #before: ConversationStateStructure;
  /** History that is not in the root messages of that state. */
  readonly #unrooted: readonly HistoryMessage[];
  readonly #entries: Entry[] = [];
  readonly #requestId: string;
  readonly #namesRoots: boolean;
  #batches = 0;

  /** With `namesRoots` each turn names its root messages, so that they can be read back exactly. */
  constructor(
    before: ConversationStateStructure,
    unrooted: readonly HistoryMessage[],
    requestId: string,
    namesRoots = false,
  ) {
    this.#before = before;
    this.#unrooted = unrooted;
    this.#requestId = requestId;
    this.#namesRoots = namesRoots;
  }

  addUser(message: UserMessage, text: string): void {
    this.#entries.push({ type: "user", message, text });
  }

  addText(delta: string): void {
    const last = this.#entries.at(-1);
    if (last?.type === "text") last.text += delta;
    else this.#entries.push({ type: "text", text: delta });
  }

  addThinking(delta: string): void {
    const last = this.#entries.at(-1);
    if (last?.type === "thinking" && last.durationMs === 0) last.text += delta;
    else this.#entries.push({ type: "thinking", text: delta, durationMs: 0 });
  }

  /** Ends a block of thinking. Redacted thinking has a signature and no text. */
  endThinking(durationMs: number, signature?: string): void {
    const last = this.#entries.at(-1);
    if (last?.type === "thinking" && last.durationMs === 0) Object.assign(last, { durationMs, signature });
    else if (signature !== undefined) this.#entries.push({ type: "thinking", text: "", durationMs, signature });
  }

  /** Adds calls that were made together, before any of them has a result. */
  addCalls(calls: readonly { id: string; name: string; args: JsonObject; display: ToolCall }[]): void {
    this.#batches++;
    for (const call of calls) this.#entries.push({ type: "call", batch: this.#batches, ...call });
  }

  endCall(id: string, display: ToolCall, result: Pick<ToolMessage, "content" | "isError">): void {
    const call = this.#entries.find((entry) => entry.type === "call" && entry.id === id);
    if (call?.type === "call") Object.assign(call, { display, result });
  }

  /**
   * Returns the state after the run. The client must have every added blob before it gets the state. Blobs of earlier
   * states are added again.
   */
  state(tokens: WindowTokens, add: AddBlob): ConversationStateStructure {
    return this.#stateOf(this.#entries, this.#entries.filter(isOpen), tokens, add);
  }

  /** Returns the state before the open calls, or else before the text since the last result, with these as pending. */
  staged(tokens: WindowTokens, add: AddBlob): ConversationStateStructure {
    const { done, last } = this.#parts;
    return this.#stateOf(done, last, tokens, add);
  }

  /** The open calls, or else the text since the last result, each as JSON. */
  get lastParts(): readonly string[] {
    return partsOf(this.#parts.last);
  }

  get #parts(): { readonly done: readonly Entry[]; readonly last: readonly Entry[] } {
    const entries = this.#entries;
    const firstOpen = entries.findIndex(isOpen);
    const end = firstOpen < 0 ? 1 + entries.findLastIndex(({ type }) => type === "user" || type === "call") : firstOpen;
    return { done: entries.slice(0, end), last: entries.slice(end).filter(({ type }) => type !== "thinking") };
  }

  #stateOf(
    done: readonly Entry[],
    pending: readonly Entry[],
    tokens: WindowTokens,
    add: AddBlob,
  ): ConversationStateStructure {
    const before = this.#before;
    const addRoot = (root: JsonObject) => add(Buffer.from(JSON.stringify(root)));
    const turns = turnsOf(done, ({ type }) => type === "user").map((entries) => ({
      entries,
      roots: rootsOf(entries).map(addRoot),
    }));
    return {
      ...before,
      rootPromptMessagesJson: [
        ...before.rootPromptMessagesJson,
        ...this.#unrooted.map((message) => addRoot(rootOf(message))),
        ...turns.flatMap(({ roots }) => roots),
      ],
      pendingToolCalls: partsOf(pending),
      turns: [...before.turns, ...turns.map(({ entries, roots }) => this.#addTurn(entries, roots, add))],
      tokenDetails: create(TokenDetailsSchema, { usedTokens: tokens.used, maxTokens: tokens.max }),
    };
  }

  #addTurn(entries: readonly Entry[], roots: readonly Uint8Array[], add: AddBlob): Uint8Array {
    const [first] = entries;
    const userMessage = first?.type === "user" ? encodeUserMessage(first.message, add) : undefined;
    const steps = entries.flatMap(encodeStep);
    return addTurn({ userMessage, steps, requestId: this.#requestId, roots: this.#namesRoots ? roots : [] }, add);
  }
}

const partsOf = (entries: readonly Entry[]): string[] =>
  rootsOf(entries).flatMap(({ content }) => (content as JsonObject[]).map((part) => JSON.stringify(part)));

function rootsOf(entries: readonly Entry[]): JsonObject[] {
  const roots: JsonObject[] = [];
  let content: AssistantPart[] = [];
  let results: JsonObject[] = [];
  let batch = 0;
  const flush = () => {
    if (content.length > 0) roots.push(rootOf({ role: "assistant", content }));
    roots.push(...results);
    content = [];
    results = [];
  };
  for (const entry of entries) {
    // Results end a message; calls of one batch stand together before them.
    if (results.length > 0 && (entry.type !== "call" || entry.batch !== batch)) flush();
    switch (entry.type) {
      case "user":
        flush();
        roots.push(rootOf({ role: "user", content: [{ type: "text", text: entry.text }] }));
        break;
      case "text":
        content.push({ type: "text", text: entry.text });
        break;
      case "thinking":
        content.push({ type: "thinking", text: entry.text, signature: entry.signature });
        break;
      case "call": {
        const { id, name, args, result } = entry;
        batch = entry.batch;
        content.push({ type: "tool-call", id, name, args });
        if (result) results.push(rootOf({ role: "tool", callId: id, ...result }, name));
        break;
      }
    }
  }
  flush();
  return roots;
}

function encodeStep(entry: Entry): Uint8Array[] {
  if (entry.type === "user") return [];
  return [toBinary(ConversationStepSchema, create(ConversationStepSchema, { message: stepOf(entry) }))];
}

function stepOf(
  entry: Exclude<Entry, { type: "user" }>,
): MessageInitShape<typeof ConversationStepSchema>["message"] & object {
  switch (entry.type) {
    case "text":
      return { case: "assistantMessage", value: { text: entry.text } };
    case "thinking":
      return { case: "thinkingMessage", value: { text: entry.text, durationMs: entry.durationMs } };
    case "call":
      return { case: "toolCall", value: entry.display };
  }
}
