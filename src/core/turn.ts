import type { Sampling } from "./sampling.ts";
import type { Secret } from "./secret.ts";

/** Any JSON. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * One question to a model, in nobody's dialect: what every face makes of a request, and all that a driver may know
 * of it. It holds what the client sent, resolved as far as that needs no upstream.
 */
export interface Turn {
  readonly principal: Principal;
  readonly model: ModelChoice;
  /** All instructions, wherever in the request they stood, in order. Empty if there are none. */
  readonly system: string;
  /** The whole conversation, oldest first. The last is what is asked now: a user message, or results of tools. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  /** Whether the model may ask for several tools at once. */
  readonly allowsParallelCalls: boolean;
  /** Texts that end the answer; they are not part of it. Enforced by us, whatever the upstream can do. */
  readonly stop: readonly string[];
  readonly maxOutputTokens: number | undefined;
  readonly output: OutputFormat;
  /** Passed on to an upstream that takes it. */
  readonly sampling?: Sampling;
  /** Whoever asks can show what the upstream does by itself, and answer its questions. */
  readonly showsActivity?: boolean;
}

/** Who asks: one gateway key, or one Cursor token that came with the request. */
export interface Principal {
  /** Stable and safe to log; two principals never share state. */
  readonly id: string;
  /** The token that came with the request, if that is how the caller signed in. */
  readonly token: Secret | undefined;
  /** True if no upstream had accepted the token when the request came in. Such tokens cost nothing to make up. */
  readonly isUnverified?: boolean;
  /** The account that the caller's key is bound to, by name; unset is the gateway's own. */
  readonly account?: string | undefined;
}

/** Which model, and how hard it shall think. The driver knows what the name means. */
export interface ModelChoice {
  /** As the client wrote it: an id, an alias, or a name with suffixes. */
  readonly id: string;
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; unset leaves it to the model. */
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

/** An image with its bytes: whoever fetches and checks it does so before a turn is made. */
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
  /** A tool of the hub's: the client was not told of it. */
  readonly isHubs?: true;
}

/** The result of one tool call. */
export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly content: readonly (TextPart | ImagePart)[];
  readonly isError: boolean;
  /** Of a tool of the hub's. */
  readonly isHubs?: true;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments: an object. */
  readonly schema: JsonObject;
  /** Where the schema is in the client's request. Unset: the client did not bring the tool. */
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
      /** Where the schema stands in the client's request. */
      readonly field: string;
    };

/** The text of a message, parts joined. */
export function textOf(content: readonly { readonly type: string }[]): string {
  let text = "";
  for (const part of content) if (isText(part)) text += part.text;
  return text;
}

const isText = (part: { readonly type: string }): part is TextPart => part.type === "text";
