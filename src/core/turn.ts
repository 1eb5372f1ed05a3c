import type { Sampling } from "./sampling.ts";
import type { Secret } from "./secret.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * One request to a model, independent of any dialect. A face makes it of a client's request; it is all that a driver knows
 * of that. Images are loaded and stored answers are resolved; the model's name is as the client wrote it.
 */
export interface Turn {
  readonly principal: Principal;
  readonly model: ModelChoice;
  /** All instructions of the request, in order, wherever they were in it. Empty if there are none. */
  readonly system: string;
  /** The whole conversation, oldest first. It ends with a user message or with tool results. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  /** Whether the model may call several tools in one round. */
  readonly allowsParallelCalls: boolean;
  /** Texts that end the answer and are not part of it. The engine enforces them for every upstream. */
  readonly stop: readonly string[];
  readonly maxOutputTokens: number | undefined;
  readonly output: OutputFormat;
  /** Passed on to upstreams that take it. For others it is reported as ignored. */
  readonly sampling?: Sampling;
  /** The client can show `activity` events and answer the questions in them. */
  readonly showsActivity?: boolean;
}

/** The caller: the holder of one gateway key, or of one Cursor token that came with the request. */
export interface Principal {
  /** Stable, and safe to log. Principals never share state. */
  readonly id: string;
  /** The token that came with the request, if the caller uses one. */
  readonly token: Secret | undefined;
  /** True if no upstream has accepted the token yet. Anybody can make up such tokens, so they get less. */
  readonly isUnverified?: boolean;
  /** The name of the account that the caller's key is bound to. Unset: the gateway's default account. */
  readonly account?: string | undefined;
}

/** The model, and how much effort it puts into thinking. Only the driver knows what the name means. */
export interface ModelChoice {
  /** An id, an alias, or a name with suffixes. */
  readonly id: string;
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Unset: the model's default. */
  readonly effort: string | undefined;
}

export type Message = UserMessage | AssistantMessage | ToolMessage;

export interface UserMessage {
  readonly role: "user";
  readonly content: readonly UserPart[];
}

export type UserPart = TextPart | ImagePart | FilePart;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** An image with its bytes. It was fetched and checked before the turn was made. */
export interface ImagePart {
  readonly type: "image";
  readonly mediaType: string;
  readonly data: Uint8Array;
}

/** A text file that the user attached. */
export interface FilePart {
  readonly type: "file";
  readonly name: string;
  readonly text: string;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
}

export type AssistantPart = TextPart | ThinkingPart | ToolCallPart;

export interface ThinkingPart {
  readonly type: "thinking";
  readonly text: string;
  readonly signature: string | undefined;
}

export interface ToolCallPart {
  readonly type: "tool-call";
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** A call of a hub tool. The client does not see it. */
  readonly isHubs?: true;
  /** The key of the arguments as the client got them. Set by the engine if the client has added members to them. */
  readonly argsKey?: string;
  /** A request of the upstream's own that a tool of the client serves. Unset in what clients send back. */
  readonly isNative?: true;
}

/** The result of one tool call. */
export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly content: readonly (TextPart | ImagePart)[];
  readonly isError: boolean;
  /** The result of a hub tool. */
  readonly isHubs?: true;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** The JSON schema of the arguments. */
  readonly schema: JsonObject;
  /** Where the schema is in the client's request, for errors. Unset if the tool is not the client's. */
  readonly field?: string;
}

export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  | { readonly type: "required" }
  | { readonly type: "tool"; readonly name: string };

export type OutputFormat =
  | { readonly type: "text" }
  | { readonly type: "json" }
  | {
      readonly type: "json-schema";
      readonly name: string;
      readonly schema: JsonObject;
      /** Where the schema is in the client's request, for errors. */
      readonly field: string;
    };

/** Joins the text parts of a message. */
export function textOf(content: readonly { readonly type: string }[]): string {
  let text = "";
  for (const part of content) if (isText(part)) text += part.text;
  return text;
}

const isText = (part: { readonly type: string }): part is TextPart => part.type === "text";

/** Returns the tool results among the messages, by the id of their call. */
export const resultsByCall = (messages: readonly Message[]): ReadonlyMap<string, ToolMessage> =>
  new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message] as const] : [])));

/** Returns the size of a tool result. */
export const resultBytes = ({ content }: Pick<ToolMessage, "content">): number =>
  content.reduce((sum, part) => sum + (part.type === "text" ? Buffer.byteLength(part.text) : part.data.length), 0);
