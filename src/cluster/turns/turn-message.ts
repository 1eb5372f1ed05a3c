import type { Question } from "../../core/activity.ts";
import type { RequestContext } from "../../core/driver.ts";
import type { LossReason } from "../../core/engine/call-log.ts";
import { trailingResults } from "../../core/engine/parking.ts";
import { runIdOf } from "../../core/engine/run/call-names.ts";
import { type ErrorDetails, type ErrorKind, ExcursorError, type ReportedCode } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { historyKeys } from "../../core/history/history-key.ts";
import type { TraceContext } from "../../core/http/trace-context.ts";
import type { Elicitation, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import type { UsageOrigin } from "../../core/run-meter.ts";
import type { RunObserver, RunPhase } from "../../core/run-observer.ts";
import { Secret } from "../../core/secret.ts";
import type { AssistantMessage, ImagePart, Message, Principal, Turn } from "../../core/turn.ts";

/** What the receiving gateway sends to the run's home node. */
export type ToHome =
  /** With `after`, the turn has only the messages after that conversation: the home node has it, unless the run is gone. */
  | {
      readonly type: "turn";
      readonly turn: EncodedTurn;
      readonly after?: Transcript | undefined;
      readonly context: EncodedContext;
    }
  /** The whole conversation. */
  | { readonly type: "messages"; readonly messages: EncodedTurn["messages"] }
  /** The client is gone, or the answer has reached a limit. */
  | { readonly type: "cancel" }
  | { readonly type: "elicited"; readonly id: number; readonly answer: ElicitationAnswer }
  /** The user has answered a question of an agent, by its id. */
  | { readonly type: "chosen"; readonly id: string; readonly optionId?: string | undefined };

/** The conversation of a parked run up to its calls. */
interface Transcript {
  readonly runId: string;
  readonly historyKey: string;
}

/** What the home node sends back, in lists. */
export type FromHome =
  /** It does not have the conversation, and needs the messages. */
  | { readonly type: "unknown" }
  /** A batch, and what the run has used so far by estimate. */
  | {
      readonly type: "events";
      readonly events: readonly (TurnEvent | Pieces)[];
      readonly grown?: readonly [number, number];
    }
  /** `agoMs`: the clocks of two processes do not compare. */
  | { readonly type: "phase"; readonly name: RunPhase; readonly agoMs: number; readonly reason?: LossReason }
  | { readonly type: "used"; readonly usage: Usage; readonly origin: UsageOrigin }
  | { readonly type: "answered"; readonly message: AssistantMessage; readonly reason: DoneReason }
  | { readonly type: "elicit"; readonly id: number; readonly question: Elicitation }
  /** Sent at intervals, so that a home node that is frozen is noticed. */
  | { readonly type: "alive" }
  | { readonly type: "failed"; readonly error: EncodedError }
  | { readonly type: "over" };

/** Pieces of text or thinking that follow each other: most of an answer is that, and a list is parsed faster than events. */
type Pieces =
  | { readonly type: "texts"; readonly pieces: string[] }
  | { readonly type: "thinkings"; readonly pieces: string[] };

export function encodeEvents(events: readonly TurnEvent[]): readonly (TurnEvent | Pieces)[] {
  const encoded: (TurnEvent | Pieces)[] = [];
  for (const event of events) {
    if (event.type !== "text" && event.type !== "thinking") {
      encoded.push(event);
      continue;
    }
    const type = event.type === "text" ? "texts" : "thinkings";
    const last = encoded.at(-1);
    if (last?.type === type) last.pieces.push(event.text);
    else encoded.push({ type, pieces: [event.text] });
  }
  return encoded;
}

export const decodeEvents = (events: readonly (TurnEvent | Pieces)[]): readonly TurnEvent[] =>
  events.flatMap((event): TurnEvent | readonly TurnEvent[] => {
    if (event.type === "texts") return event.pieces.map((text) => ({ type: "text", text }));
    if (event.type === "thinkings") return event.pieces.map((text) => ({ type: "thinking", text }));
    return event;
  });

/** What a home node needs of the request beside its turn. */
export interface EncodedContext extends Pick<RequestContext, "requestId" | "tools" | "hops"> {
  readonly trace?: TraceContext | undefined;
  readonly canAsk: boolean;
  readonly wantsAnswer: boolean;
  /** Where usage that is reported late is told: the tag of the receiving gateway, and its id of the turn. */
  readonly late?: { readonly tag: string; readonly id: number } | undefined;
}

/** Returns the question in an event, if it has one. Its `answer` does not travel. */
export const questionIn = (event: TurnEvent): Question | undefined =>
  event.type === "activity" && event.activity.type === "question" ? event.activity : undefined;

/** A turn as JSON: images as base64, the token in the clear. It travels encrypted only, and is never logged. */
export type EncodedTurn = Omit<Turn, "principal" | "messages"> & {
  readonly principal: Omit<Principal, "token"> & { readonly token?: string | undefined };
  readonly messages: readonly unknown[];
};

export function encodeTurn(turn: Turn): EncodedTurn {
  const { token, ...principal } = turn.principal;
  return {
    ...turn,
    principal: { ...principal, token: token?.reveal() },
    messages: encodeMessages(turn.messages),
  };
}

/** Returns a turn without the conversation that the home node of its run has. */
export function shortenTurn(turn: Turn, observer?: RunObserver): { readonly turn: Turn; readonly after?: Transcript } {
  const results = trailingResults(turn.messages);
  const runId = runIdOf(results[0]?.callId ?? "");
  const keys = runId && (observer?.keysOf?.(turn.messages) ?? historyKeys(turn.messages));
  const historyKey = keys?.[turn.messages.length - results.length];
  if (runId === undefined || historyKey === undefined) return { turn };
  return { turn: { ...turn, messages: results }, after: { runId, historyKey } };
}

export const encodeMessages = (messages: readonly Message[]): readonly unknown[] =>
  messages.map((message) => mapImages(message, encodeImage));

export const decodeMessages = (messages: readonly unknown[]): readonly Message[] =>
  messages.map((message) => mapImages(message as Message, decodeImage));

export function decodeTurn(turn: EncodedTurn): Turn {
  const { token, ...principal } = turn.principal;
  return {
    ...turn,
    maxOutputTokens: turn.maxOutputTokens,
    principal: { ...principal, token: token === undefined ? undefined : new Secret(token) },
    messages: decodeMessages(turn.messages),
  };
}

/** Returns the message with other images. One without images is returned as it is. */
function mapImages(message: Message, map: (part: ImagePart) => ImagePart): Message {
  const parts: readonly { readonly type: string }[] = message.content;
  if (!parts.some(isImage)) return message;
  return { ...message, content: parts.map((part) => (isImage(part) ? map(part) : part)) } as unknown as Message;
}

const isImage = (part: { readonly type: string }): part is ImagePart => part.type === "image";

const encodeImage = (part: ImagePart): ImagePart => ({
  ...part,
  data: Buffer.from(part.data).toString("base64") as unknown as Uint8Array,
});

const decodeImage = (part: ImagePart): ImagePart => ({
  ...part,
  data: Buffer.from(part.data as unknown as string, "base64"),
});

export type EncodedError = Omit<ErrorDetails, "cause"> & { readonly kind: ErrorKind; readonly message: string };

export function encodeError({
  kind,
  message,
  code,
  hint,
  field,
  retryable,
  retryAfterMs,
  context,
  hasOwnHint,
}: ExcursorError): EncodedError {
  return {
    kind,
    message,
    code: code as ReportedCode,
    ...(hasOwnHint && hint !== undefined && { hint }),
    ...(field !== undefined && { field }),
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    context,
  };
}

export const decodeError = ({ kind, message, ...details }: EncodedError): ExcursorError =>
  new ExcursorError(kind, message, details);
