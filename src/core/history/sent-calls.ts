import { BoundedMap } from "../bounded-map.ts";
import { runIdOf } from "../engine/run/call-names.ts";
import type { AssistantMessage, JsonObject, JsonValue, ToolCallPart, Turn } from "../turn.ts";
import { argsKey } from "./history-key.ts";

/** What is known of a tool call that a client got. All are keys of arguments, see {@link argsKey}. */
interface SentCall {
  readonly sent: string;
  /** Without the members that {@link reduced} leaves out. */
  readonly reduced: string;
  /** As the client has sent the call back. */
  readonly returned: string;
}

/**
 * Stores what is known of the tool calls that clients got, by the ids that clients see. Each principal has its own. Number
 * and age are limited.
 */
export interface SentCalls {
  find(principalId: string, callIds: readonly string[]): ReadonlyMap<string, SentCall>;
  keep(principalId: string, callId: string, call: SentCall): void;
}

const MAX_CALLS = 10_000;

/** Creates a store that ends with the process. */
export function createSentCalls(): SentCalls {
  const calls = new BoundedMap<string, SentCall>(MAX_CALLS);
  const slotOf = (principalId: string, callId: string) => JSON.stringify([principalId, callId]);
  return {
    find: (principalId, callIds) =>
      new Map(
        callIds.flatMap((callId) => {
          const call = calls.get(slotOf(principalId, callId));
          return call ? [[callId, call] as const] : [];
        }),
      ),
    keep: (principalId, callId, call) => void calls.set(slotOf(principalId, callId), call),
  };
}

/** Remembers the calls of an answer as the client gets them. */
export function keepCalls(store: SentCalls, { principal, tools }: Turn, { content }: AssistantMessage): void {
  for (const part of content) {
    if (part.type !== "tool-call" || part.isHubs) continue;
    const sent = argsKey(part.args);
    store.keep(principal.id, part.id, { sent, reduced: reducedKey(part, tools), returned: sent });
  }
}

/**
 * Some clients send a call back with members that the model never said, such as the defaults of the tool's schema. Returns
 * the turn with the calls that are still the same marked by the key with which they were sent, so that the history is the
 * one that the run, its checkpoints and the caches know.
 */
export function asSent(turn: Turn, store: SentCalls): Turn {
  const { principal, messages, tools } = turn;
  const ids = messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.flatMap((part) => (part.type === "tool-call" && isOurs(part) ? [part.id] : [])) : [],
  );
  const known = ids.length > 0 ? store.find(principal.id, ids) : undefined;
  if (!known || known.size === 0) return turn;
  const marked = (part: ToolCallPart): ToolCallPart => {
    const call = known.get(part.id);
    if (!call) return part;
    const own = argsKey(part.args);
    const wasAccepted = own === call.sent || own === call.returned;
    if (!wasAccepted && reducedKey(part, tools) !== call.reduced) return part;
    // A later request may not offer the tool, and so not have its schema.
    if (!wasAccepted) store.keep(principal.id, part.id, { ...call, returned: own });
    return { ...part, argsKey: call.sent };
  };
  return {
    ...turn,
    messages: messages.map((message) =>
      message.role === "assistant"
        ? { ...message, content: message.content.map((part) => (part.type === "tool-call" ? marked(part) : part)) }
        : message,
    ),
  };
}

const isOurs = ({ id, isHubs }: ToolCallPart): boolean => !isHubs && runIdOf(id) !== undefined;

function reducedKey({ name, args }: ToolCallPart, tools: Turn["tools"]): string {
  const schema = tools.find((tool) => tool.name === name)?.schema;
  return argsKey(reduced(args, schema) as JsonObject);
}

/** Returns the arguments without members that are null or equal the schema's default, at every level. */
export function reduced(value: JsonValue, schema: JsonValue | undefined): JsonValue {
  if (isList(value)) return value.map((item) => reduced(item, member(schema, "items")));
  if (!isObject(value)) return value;
  const properties = member(schema, "properties");
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const innerSchema = member(properties, name);
    const part = reduced(inner, innerSchema);
    const standard = member(innerSchema, "default");
    const saysNothing = part === null || (standard !== undefined && isEqual(part, reduced(standard, innerSchema)));
    return saysNothing ? [] : [[name, part] as const];
  });
  return Object.fromEntries(kept);
}

const isEqual = (a: JsonValue, b: JsonValue): boolean => argsKey({ a }) === argsKey({ a: b });

const member = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !isList(value);
