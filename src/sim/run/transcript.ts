import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import {
  type ConversationStateStructure,
  ConversationTurnStructureSchema,
  TokenDetailsSchema,
} from "../../gen/agent/v1/conversation_pb.ts";
import { ConversationStepSchema, type ToolCall } from "../../gen/agent/v1/tool_call_pb.ts";
import { type UserMessage, UserMessageSchema } from "../../gen/agent/v1/user_message_pb.ts";
import type { Message } from "../script/conversation.ts";
import { type Marker, withMarker } from "./marker.ts";
import { assistantRoot, rootsOf, toolRoot, userRoot } from "./root-message.ts";

type Entry =
  | { readonly type: "user"; readonly message: UserMessage; readonly text: string }
  | { readonly type: "text"; text: string }
  | { readonly type: "thinking"; text: string; durationMs: number }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      readonly args: JsonObject;
      /** Calls of one batch were asked for together. */
      readonly batch: number;
      display: ToolCall;
      result?: { readonly text: string; readonly isError: boolean };
    };

/** Stores bytes at the client once; returns their id. */
export type StoreBlob = (bytes: Uint8Array) => Promise<Uint8Array>;

/** What happened on one run, and how it goes into the conversation's state. */
export class Transcript {
  readonly #before: ConversationStateStructure;
  /** History that is not among the root messages yet. */
  readonly #unrooted: readonly Message[];
  readonly #entries: Entry[] = [];
  readonly #requestId: string;
  #batches = 0;

  constructor(before: ConversationStateStructure, unrooted: readonly Message[], requestId: string) {
    this.#before = before;
    this.#unrooted = unrooted;
    this.#requestId = requestId;
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

  endThinking(durationMs: number): void {
    const last = this.#entries.at(-1);
    if (last?.type === "thinking") last.durationMs = durationMs;
  }

  /** Calls asked for together, before any of them is answered. */
  addCalls(calls: readonly { id: string; name: string; args: JsonObject; display: ToolCall }[]): void {
    this.#batches++;
    for (const call of calls) this.#entries.push({ type: "call", batch: this.#batches, ...call });
  }

  endCall(id: string, display: ToolCall, text: string, isError: boolean): void {
    const call = this.#entries.find((entry) => entry.type === "call" && entry.id === id);
    if (call?.type === "call") Object.assign(call, { display, result: { text, isError } });
  }

  /** The state after all this. Everything it refers to is stored first. */
  async checkpoint(marker: Marker, tokens: { used: number; max: number }, store: StoreBlob) {
    const storeJson = (json: JsonObject) => store(Buffer.from(JSON.stringify(json)));
    const state = this.#before;
    const [roots, turns] = [
      await Promise.all([...this.#unrooted.flatMap(rootsOf), ...this.#roots()].map(storeJson)),
      await Promise.all(this.#turns().map((turn) => this.#storeTurn(turn, store))),
    ];
    return withMarker(
      {
        ...state,
        rootPromptMessagesJson: [...state.rootPromptMessagesJson, ...roots],
        turns: [...state.turns, ...turns],
        tokenDetails: create(TokenDetailsSchema, { usedTokens: tokens.used, maxTokens: tokens.max }),
      },
      marker,
    );
  }

  #roots(): JsonObject[] {
    const roots: JsonObject[] = [];
    let content: JsonObject[] = [];
    let results: JsonObject[] = [];
    let batch = 0;
    const flush = () => {
      if (content.length > 0) roots.push(assistantRoot(content));
      roots.push(...results);
      content = [];
      results = [];
    };
    for (const entry of this.#entries) {
      // Results end a message; calls of one batch stand together before them.
      if (results.length > 0 && (entry.type !== "call" || entry.batch !== batch)) flush();
      switch (entry.type) {
        case "user":
          flush();
          roots.push(userRoot(entry.text));
          break;
        case "text":
          content.push({ type: "text", text: entry.text });
          break;
        case "thinking":
          content.push({ type: "reasoning", text: entry.text });
          break;
        case "call":
          batch = entry.batch;
          content.push({ type: "tool-call", toolCallId: entry.id, toolName: entry.name, args: entry.args });
          if (entry.result) results.push(toolRoot(entry.id, entry.name, entry.result.text, entry.result.isError));
          break;
      }
    }
    flush();
    return roots;
  }

  /** The entries cut before each user message. */
  #turns(): Entry[][] {
    const turns: Entry[][] = [];
    for (const entry of this.#entries) {
      if (entry.type === "user" || turns.length === 0) turns.push([]);
      turns.at(-1)?.push(entry);
    }
    return turns;
  }

  async #storeTurn(entries: readonly Entry[], store: StoreBlob): Promise<Uint8Array> {
    const [first] = entries;
    const userMessage = first?.type === "user" ? await store(await storedUserMessage(first.message, store)) : undefined;
    const steps = await Promise.all(
      entries.flatMap(stepOf).map((step) => store(toBinary(ConversationStepSchema, step))),
    );
    const turn = create(ConversationTurnStructureSchema, {
      turn: {
        case: "agentConversationTurn",
        value: { ...(userMessage ? { userMessage } : {}), steps, requestId: this.#requestId },
      },
    });
    return store(toBinary(ConversationTurnStructureSchema, turn));
  }
}

function stepOf(entry: Entry) {
  switch (entry.type) {
    case "user":
      return [];
    case "text":
      return [create(ConversationStepSchema, { message: { case: "assistantMessage", value: { text: entry.text } } })];
    case "thinking": {
      const value = { text: entry.text, durationMs: entry.durationMs };
      return [create(ConversationStepSchema, { message: { case: "thinkingMessage", value } })];
    }
    case "call":
      return [create(ConversationStepSchema, { message: { case: "toolCall", value: entry.display } })];
  }
}

/** The user's message with its images moved into blobs of their own, so that no frame grows with them. */
async function storedUserMessage(message: UserMessage, store: StoreBlob): Promise<Uint8Array> {
  const images = message.selectedContext?.selectedImages ?? [];
  const moved = await Promise.all(
    images.map(async (image) => {
      if (image.dataOrBlobId.case !== "data") return image;
      const blobId = await store(image.dataOrBlobId.value);
      return { ...image, dataOrBlobId: { case: "blobId" as const, value: blobId } };
    }),
  );
  const selectedContext = message.selectedContext && { ...message.selectedContext, selectedImages: moved };
  return toBinary(UserMessageSchema, selectedContext ? { ...message, selectedContext } : message);
}
