import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { KvClientMessageSchema, KvServerMessage } from "../gen/agent/v1/kv_pb.ts";
import { type AgentClientMessage, AgentClientMessageSchema, AgentServerMessageSchema } from "../gen/agent/v1/run_pb.ts";
import type { ClientMessage } from "../wire/agent/messages.ts";
import { Blobs } from "../wire/agent/state/blobs.ts";
import type { Cassette, CassetteCall, CassetteMessage } from "./cassette.ts";
import type { IdMap } from "./id-map.ts";
import { isSameMeaning, type Meaning } from "./meaning.ts";

/**
 * The blobs that the recorded client had. The content of one may have been masked: it gets the id that its content has now, and
 * `ids` learns it.
 */
export function blobsOf({ calls }: Cassette, ids: IdMap): Blobs {
  const blobs = new Blobs();
  const add = (id: Uint8Array | undefined, content: Uint8Array) => {
    const own = blobs.add(content);
    if (id) ids.addBlob(id, own);
  };
  for (const { messages } of calls) {
    const asked = new Map<number, Uint8Array>();
    for (const { bytes, meaning } of messages) {
      if (!/^kv_(?:client|server)_message\./.test(meaning.kind)) continue;
      const schema = meaning.kind.startsWith("kv_client") ? AgentClientMessageSchema : AgentServerMessageSchema;
      const { message } = fromBinary<typeof AgentClientMessageSchema | typeof AgentServerMessageSchema>(schema, bytes);
      const kv = message.case === "kvClientMessage" || message.case === "kvServerMessage" ? message.value : undefined;
      if (kv?.message.case === "setBlobArgs") add(kv.message.value.blobId, kv.message.value.blobData);
      if (kv?.message.case === "getBlobArgs") asked.set(kv.id, kv.message.value.blobId);
      if (kv?.message.case === "getBlobResult" && kv.message.value.blobData) {
        add(asked.get(kv.id), kv.message.value.blobData);
      }
    }
  }
  return blobs;
}

interface Request {
  readonly message: CassetteMessage;
  readonly replies: readonly AgentClientMessage[];
}

/** What the client of a recorded run replied to the backend's requests, for requests of another backend. */
export class RecordedReplies {
  readonly #open: Request[];
  readonly #blobs: Blobs;
  readonly #ids: IdMap;

  constructor({ messages }: CassetteCall, blobs: Blobs, ids: IdMap) {
    this.#blobs = blobs;
    this.#ids = ids;
    const replies = messages.filter(isReply).map(({ bytes }) => fromBinary(AgentClientMessageSchema, bytes));
    this.#open = messages.flatMap((message) => {
      const request = REQUEST.test(message.meaning.kind) ? requestOf(message.bytes) : undefined;
      if (!request) return [];
      return [{ message, replies: replies.filter((reply) => sameRequest(placeOf(reply), request)) }];
    });
  }

  /** Returns the replies to a message of the backend. Undefined: the recorded client was not asked for that. */
  to(bytes: Uint8Array, meaning: Meaning): readonly Uint8Array[] | undefined {
    if (!REQUEST.test(meaning.kind)) return [];
    const { message } = fromBinary(AgentServerMessageSchema, bytes);
    if (message.case === "kvServerMessage") return [this.#replyToKv(message.value)];
    const request = requestOf(bytes);
    if (!request) return [];
    const isOfKind = ({ message: { meaning: recorded } }: Request) => recorded.kind === meaning.kind;
    const same = this.#open.findIndex(({ message: recorded }) => isSameMeaning(recorded.meaning, meaning));
    const index = same === -1 ? this.#open.findIndex(isOfKind) : same;
    const [found] = index === -1 ? [] : this.#open.splice(index, 1);
    if (!found) return undefined;
    this.#ids.learn(found.message.bytes, bytes);
    return found.replies.map((reply) => this.#ids.apply(withPlace(reply, request)));
  }

  #replyToKv({ id, message }: KvServerMessage): Uint8Array {
    if (message.case === "setBlobArgs") this.#blobs.set(message.value.blobId, message.value.blobData);
    const result: MessageInitShape<typeof KvClientMessageSchema>["message"] =
      message.case === "getBlobArgs"
        ? { case: "getBlobResult", value: blobResult(this.#blobs.get(message.value.blobId)) }
        : { case: "setBlobResult", value: {} };
    const reply: ClientMessage = { case: "kvClientMessage", value: { id, message: result } };
    return toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message: reply }));
  }
}

const blobResult = (blobData: Uint8Array | undefined) => (blobData ? { blobData } : {});

const REQUEST = /^(?:exec_server_message|kv_server_message|interaction_query)(?:\.|$)/;
const REPLY = /^(?:exec_client_message|exec_client_control_message|kv_client_message|interaction_response)(?:\.|$)/;

/** True for messages that the backend has asked for. */
export const isReply = ({ direction, meaning }: CassetteMessage): boolean =>
  direction === "sent" && REPLY.test(meaning.kind);

/** Which request: the two kinds are numbered each by itself. */
interface RequestPlace {
  readonly type: "exec" | "query";
  readonly id: number;
  readonly execId: string;
}

const sameRequest = (a: RequestPlace | undefined, b: RequestPlace): boolean => a?.type === b.type && a.id === b.id;

function requestOf(bytes: Uint8Array): RequestPlace | undefined {
  const { message } = fromBinary(AgentServerMessageSchema, bytes);
  if (message.case === "execServerMessage") return { type: "exec", id: message.value.id, execId: message.value.execId };
  return message.case === "interactionQuery" ? { type: "query", id: message.value.id, execId: "" } : undefined;
}

function placeOf({ message }: AgentClientMessage): RequestPlace | undefined {
  if (message.case === "execClientMessage") return { type: "exec", id: message.value.id, execId: message.value.execId };
  if (message.case === "interactionResponse") return { type: "query", id: message.value.id, execId: "" };
  const control = message.case === "execClientControlMessage" ? message.value.message : undefined;
  return control?.case === undefined ? undefined : { type: "exec", id: control.value.id, execId: "" };
}

/** Returns the reply for another request. */
function withPlace(reply: AgentClientMessage, { id, execId }: RequestPlace): Uint8Array {
  const copy = fromBinary(AgentClientMessageSchema, toBinary(AgentClientMessageSchema, reply));
  const { message } = copy;
  if (message.case === "execClientMessage") {
    message.value.id = id;
    if (message.value.execId !== "") message.value.execId = execId;
  } else if (message.case === "interactionResponse") message.value.id = id;
  else if (message.case === "execClientControlMessage" && message.value.message.case !== undefined)
    message.value.message.value.id = id;
  return toBinary(AgentClientMessageSchema, copy);
}
