import { hash } from "node:crypto";
import { BoundedMap } from "../../../core/bounded-map.ts";
import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { type AssistantPart, type JsonObject, type Message, type ToolMessage, textOf } from "../../../core/turn.ts";
import { invalid } from "../errors/invalid.ts";

/** Answers whose call ids are remembered. One takes less than a kilobyte. */
const MAX_ANSWERS = 4096;

/**
 * Remembers the ids of tool calls, for dialects whose clients drop or replace them. Ids are found again by the
 * conversation that led to the calls. If they are forgotten, the run is replayed from the transcript.
 */
export class CallMemory {
  /** By conversation. */
  readonly #ids = new BoundedMap<string, readonly string[]>(MAX_ANSWERS);

  keep(conversation: string, calls: readonly CalledTool[]): void {
    this.#ids.set(
      withCalls(conversation, calls),
      calls.map(({ id }) => id),
    );
  }

  /**
   * Returns a conversation with the ids that we gave its calls, and with adjacent parts of one answer joined. Throws
   * `invalid-request` for a result that belongs to no call.
   */
  restore(principalId: string, unjoined: readonly GivenMessage[]): RestoredConversation {
    const given = joinAnswers(unjoined);
    const messages: Message[] = [];
    let conversation = principalId;
    let open: OpenCall[] = [];
    for (const message of given) {
      if (message.role === "tool") {
        const callId = takeCall(open, message).id;
        const { content, isError } = message;
        conversation = extended(conversation, "tool", textOf(content));
        messages.push({ role: "tool", callId, content, isError });
      } else if (message.role === "user") {
        conversation = extended(conversation, "user", textOf(message.content));
        messages.push(message);
      } else {
        const calls = message.content.filter((part) => part.type === "tool-call");
        if (calls.length > 0) {
          conversation = withCalls(conversation, calls);
          const known = this.#ids.get(conversation);
          open = calls.map(({ id: givenId, name }, index) => {
            const isUsable = givenId !== "" && calls.findIndex(({ id }) => id === givenId) === index;
            const id = known?.[index] ?? (isUsable ? givenId : `call_${conversation.slice(0, 16)}_${index}`);
            return { id, givenId, name };
          });
        }
        messages.push({ role: "assistant", content: withIds(message.content, open) });
      }
    }
    return { messages, conversation };
  }
}

export interface CalledTool {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** A message as the client sent it. The id of a call is empty if the client sent none. */
export type GivenMessage = Exclude<Message, ToolMessage> | GivenResult;

interface GivenResult extends Pick<ToolMessage, "role" | "content" | "isError"> {
  /** Unset: the first call of this name that has no result. */
  readonly callId: string | undefined;
  /** Unset: the first call that has no result. */
  readonly name: string | undefined;
  /** Where it is in the request, for errors. */
  readonly field: string;
}

export interface RestoredConversation {
  readonly messages: readonly Message[];
  /** Identifies the conversation, for {@link CallMemory.keep}. */
  readonly conversation: string;
}

interface OpenCall {
  readonly id: string;
  readonly givenId: string;
  readonly name: string;
}

function joinAnswers(given: readonly GivenMessage[]): readonly GivenMessage[] {
  const joined: GivenMessage[] = [];
  for (const message of given) {
    const last = joined.at(-1);
    if (message.role === "assistant" && last?.role === "assistant") {
      joined[joined.length - 1] = { role: "assistant", content: [...last.content, ...message.content] };
    } else joined.push(message);
  }
  return joined;
}

/** Removes the call that a result belongs to from the open ones. */
function takeCall(open: OpenCall[], { callId, name, field }: GivenResult): OpenCall {
  const at = open.findIndex((call) =>
    callId ? call.givenId === callId || call.id === callId : !name || call.name === name,
  );
  const [call] = at === -1 ? [] : open.splice(at, 1);
  if (call) return call;
  throw invalid(field, callId ? "no open tool call has this id" : "no open tool call for this result");
}

function withIds(content: readonly AssistantPart[], calls: readonly OpenCall[]): readonly AssistantPart[] {
  let index = 0;
  return content.map((part) => (part.type === "tool-call" ? { ...part, id: calls[index++]?.id ?? part.id } : part));
}

/** Leaves the answer's text out: many clients drop it beside calls. */
const withCalls = (conversation: string, calls: readonly Pick<CalledTool, "name" | "args">[]): string =>
  extended(
    conversation,
    "calls",
    JSON.stringify(
      calls.map(({ name, args }) => [name, args]),
      inOrder,
    ),
  );

const extended = (conversation: string, kind: string, text: string): string =>
  hash("sha256", `${conversation}\n${kind}\n${text}`, "base64url");

/** Sorts the keys of objects: clients may send them in another order. */
const inOrder = (_: string, value: unknown): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
