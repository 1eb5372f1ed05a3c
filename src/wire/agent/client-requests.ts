import { randomUUID } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { within } from "../../core/within.ts";
import {
  type ExecClientControlMessage,
  type ExecClientMessage,
  ExecClientMessageSchema,
  type ExecServerMessage,
  ExecServerMessageSchema,
} from "../../gen/agent/v1/exec_pb.ts";
import type { KvClientMessage, KvServerMessageSchema } from "../../gen/agent/v1/kv_pb.ts";
import {
  type InteractionQuery,
  InteractionQuerySchema,
  type InteractionResponse,
  InteractionResponseSchema,
} from "../../gen/agent/v1/query_pb.ts";
import {
  type AgentClientMessage,
  type AgentServerMessage,
  AgentServerMessageSchema,
} from "../../gen/agent/v1/run_pb.ts";
import type { ConnectCode } from "./cursor-errors.ts";
import type { ExecReply } from "./exec/exec-result.ts";
import { memberName, memberOf } from "./member.ts";
import type { ServerMessage } from "./messages.ts";
import { Pending } from "./pending.ts";
import { hexId, isContentOf } from "./state/blobs.ts";

export interface Violation {
  readonly code: Extract<ConnectCode, "invalid_argument" | "internal">;
  readonly message: string;
}

export interface ClientRequestsOptions {
  readonly send: (message: AgentServerMessage) => void;
  /** Throws to fail the request to the client, or returns to tolerate the violation. */
  readonly onViolation: (violation: Violation) => void;
  /** Called with what `onViolation` threw if nothing awaits the reply. */
  readonly onUnawaited: (error: unknown) => void;
  /** How long blobs, the request context and queries may stay unanswered. */
  readonly answerTimeoutMs: number;
  /** How long to wait for the first confirmation of a blob. If none comes, later ones are not awaited. Absent: all are. */
  readonly confirmWithinMs?: number | undefined;
}

interface OpenExec {
  readonly execId: string;
  readonly resultMember: number;
  readonly messages: ExecClientMessage[];
  readonly onMessage: ((message: ExecClientMessage) => void) | undefined;
}

/**
 * Requests of the server to its client, and their replies: blobs, execs, queries. Each of the three has its own ids. A
 * reply must belong to an open request and have the right member; anything else is a {@link Violation}.
 */
export class ClientRequests {
  readonly #options: ClientRequestsOptions;
  readonly #kv = new Pending<KvClientMessage | undefined>();
  readonly #execs = new Pending<ExecReply>();
  readonly #queries = new Pending<InteractionResponse | undefined>();
  readonly #openExecs = new Map<number, OpenExec>();
  /** Shell streams. Real clients may send more after their last event: an `exit`, a `shell_result`. */
  readonly #shellStreams = new Set<number>();
  /** Requests that were deliberately sent twice, and may be answered twice. */
  readonly #askedTwice = new Set<string>();
  #abandonedFor: Error | undefined;
  #confirms = true;
  /** Sends the next request twice. */
  repeatsNext = false;

  constructor(options: ClientRequestsOptions) {
    this.#options = options;
  }

  /** Gets a blob from the client. Returns undefined if the client does not have it. */
  async getBlob(blobId: Uint8Array): Promise<Uint8Array | undefined> {
    const reply = await this.#askKv({ case: "getBlobArgs", value: { blobId } });
    this.#checkKv(reply, "getBlobResult", "get_blob_result");
    const data = reply?.message.case === "getBlobResult" ? reply.message.value.blobData : undefined;
    if (data) this.checkBlob("kv_client_message.get_blob_result.blob_data", blobId, data);
    return data;
  }

  /** Stores a blob at the client. Resolves when the client has confirmed it, or has shown that it confirms none in time. */
  async setBlob(blobId: Uint8Array, blobData: Uint8Array): Promise<void> {
    const stored = this.#askKv({ case: "setBlobArgs", value: { blobId, blobData } }).then((reply) =>
      this.#checkKv(reply, "setBlobResult", "set_blob_result"),
    );
    stored.catch((error) => error !== this.#abandonedFor && this.#options.onUnawaited(error));
    const { confirmWithinMs } = this.#options;
    if (confirmWithinMs === undefined) return stored;
    if (!this.#confirms) return;
    await within(stored, confirmWithinMs, () => {
      this.#confirms = false;
    });
  }

  #checkKv(reply: KvClientMessage | undefined, expected: KvClientMessage["message"]["case"], name: string): void {
    if (!reply || reply.message.case === expected) return;
    this.violate(`kv_client_message.${reply.message.case ?? "message"}`, `request ${reply.id} wants ${name}`);
  }

  checkBlob(field: string, blobId: Uint8Array, data: Uint8Array): void {
    if (isContentOf(blobId, data)) return;
    this.violate(field, `the sha256 of these ${data.length} bytes is not the blob id ${hexId(blobId)}`);
  }

  /**
   * Sends an exec request. Tools may take any time; with `isTimed` the reply has to come within the limit. `onMessage` is
   * called with each message of the reply as it comes: a shell stream has several.
   */
  exec(
    request: ExecServerMessage,
    isTimed = false,
    onMessage?: (message: ExecClientMessage) => void,
  ): Promise<ExecReply> {
    const member = memberOf(ExecServerMessageSchema, request);
    const name = memberName(ExecServerMessageSchema, member);
    const limit = isTimed ? this.#options.answerTimeoutMs : undefined;
    const { id, reply } = this.#execs.ask(limit, (late) => {
      this.#openExecs.delete(late);
      this.#unanswered("exec_client_message", name);
      return { messages: [], error: "No answer came in time." };
    });
    const execId = `exec-${randomUUID()}`;
    this.#openExecs.set(id, { execId, resultMember: resultMember(member), messages: [], onMessage });
    if (request.message.case === "shellStreamArgs") this.#shellStreams.add(id);
    this.#ask(`exec ${id}`, { case: "execServerMessage", value: Object.assign(request, { id, execId }) });
    return reply;
  }

  async query(request: InteractionQuery): Promise<InteractionResponse | undefined> {
    const asked = memberOf(InteractionQuerySchema, request);
    const { id, reply } = this.#queries.ask(this.#options.answerTimeoutMs, () => {
      this.#unanswered("interaction_response", memberName(InteractionQuerySchema, asked));
      return undefined;
    });
    this.#ask(`query ${id}`, { case: "interactionQuery", value: Object.assign(request, { id }) });
    const response = await reply;
    const answered = response ? memberOf(InteractionResponseSchema, response) : asked;
    if (answered !== asked) {
      const [got, wanted] = [answered, asked].map((member) => memberName(InteractionResponseSchema, member));
      this.violate(`interaction_response.${got}`, `query ${id} wants ${wanted}`);
    }
    return response;
  }

  /** Handles a message if it is a reply, and ignores it otherwise. */
  receive(message: AgentClientMessage["message"]): void {
    switch (message.case) {
      case "kvClientMessage":
        this.#settle(this.#kv, message.value, "kv", "kv_client_message");
        break;
      case "interactionResponse":
        this.#settle(this.#queries, message.value, "query", "interaction_response");
        break;
      case "execClientMessage":
        this.#receiveExec(message.value);
        break;
      case "execClientControlMessage":
        this.#receiveControl(message.value.message);
        break;
    }
  }

  /** Rejects all open requests. Later replies are ignored. */
  abandon(reason: Error): void {
    this.#abandonedFor = reason;
    this.#kv.rejectAll(reason);
    this.#execs.rejectAll(reason);
    this.#queries.rejectAll(reason);
    this.#openExecs.clear();
  }

  violate(field: string, problem: string, code: Violation["code"] = "invalid_argument"): void {
    this.#options.onViolation({ code, message: `${field}: ${problem}.` });
  }

  #askKv(
    message: MessageInitShape<typeof KvServerMessageSchema>["message"] & object,
  ): Promise<KvClientMessage | undefined> {
    const { id, reply } = this.#kv.ask(this.#options.answerTimeoutMs, () => {
      this.#unanswered("kv_client_message", message.case === "getBlobArgs" ? "get_blob_args" : "set_blob_args");
      return undefined;
    });
    this.#ask(`kv ${id}`, { case: "kvServerMessage", value: { id, message } });
    return reply;
  }

  #ask(question: string, message: ServerMessage): void {
    const frame = create(AgentServerMessageSchema, { message });
    this.#options.send(frame);
    if (!this.repeatsNext) return;
    this.repeatsNext = false;
    this.#askedTwice.add(question);
    this.#options.send(frame);
  }

  #settle<M extends { readonly id: number }>(pending: Pending<M | undefined>, reply: M, family: string, name: string) {
    const state = pending.stateOf(reply.id);
    if (state === "pending") pending.settle(reply.id, reply);
    else if (!this.#mayAnswerAgain(`${family} ${reply.id}`)) this.violate(`${name}.id`, `${reply.id} was ${state}`);
  }

  #mayAnswerAgain(question: string): boolean {
    return this.#abandonedFor !== undefined || this.#askedTwice.has(question);
  }

  #receiveExec(reply: ExecClientMessage): void {
    const { id } = reply;
    const exec = this.#openExecs.get(id);
    if (!exec) {
      if (this.#mayAnswerAgain(`exec ${id}`) || this.#isTrailing(reply)) return;
      this.violate("exec_client_message.id", `${id} was ${this.#execs.stateOf(id)}`);
      return;
    }
    if (reply.execId !== "" && reply.execId !== exec.execId) {
      this.violate("exec_client_message.exec_id", `exec ${id} has "${exec.execId}", not "${reply.execId}"`);
    }
    const member = memberOf(ExecClientMessageSchema, reply);
    if (member !== exec.resultMember && !this.#isTrailing(reply)) {
      const [got, wanted] = [member, exec.resultMember].map((number) => memberName(ExecClientMessageSchema, number));
      this.violate(`exec_client_message.${got}`, `exec ${id} wants ${wanted}`);
    }
    exec.messages.push(reply);
    exec.onMessage?.(reply);
    if (!isLast(reply)) return;
    this.#openExecs.delete(id);
    this.#execs.settle(id, { messages: exec.messages });
  }

  #receiveControl(control: ExecClientControlMessage["message"]): void {
    if (control.case === undefined || control.case === "heartbeat") return;
    const { id } = control.value;
    const exec = this.#openExecs.get(id);
    if (!exec) {
      // A close usually follows the result.
      if (this.#execs.stateOf(id) !== "never asked") return;
      this.violate(`exec_client_control_message.${control.case}.id`, `${id} was never asked`);
      return;
    }
    this.#openExecs.delete(id);
    const error = control.case === "throw" ? control.value.error : "The exec was closed without a result.";
    this.#execs.settle(id, { messages: exec.messages, error });
  }

  #isTrailing({ id, message }: ExecClientMessage): boolean {
    if (!this.#shellStreams.has(id)) return false;
    return message.case === "shellResult" || (message.case === "shellStream" && message.value.event.case === "exit");
  }

  #unanswered(name: string, question: string): void {
    this.violate(name, `${question} was not answered within ${this.#options.answerTimeoutMs} ms`);
  }
}

/** A result has the number of its request, except in two families of other harnesses. */
function resultMember(request: number): number {
  if (request === 52) return 55;
  return request >= 45 && request <= 51 ? request + 1 : request;
}

/** A shell stream ends with one of these events; every other result is one message. */
const LAST_EVENTS: readonly string[] = ["exit", "rejected", "permissionDenied", "backgrounded", "sandboxUnsupported"];

const isLast = ({ message }: ExecClientMessage): boolean =>
  message.case !== "shellStream" || LAST_EVENTS.includes(message.value.event.case ?? "");
