import { createHash, randomUUID } from "node:crypto";
import { create, fromJson, type JsonObject, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { ExcursorError } from "../../../src/core/errors.ts";
import { ConversationActionSchema } from "../../../src/gen/agent/v1/action_pb.ts";
import type { ConversationStateStructure } from "../../../src/gen/agent/v1/conversation_pb.ts";
import type { ExecClientMessageSchema, ExecServerMessage } from "../../../src/gen/agent/v1/exec_pb.ts";
import type { TurnEndedUpdate } from "../../../src/gen/agent/v1/interaction_pb.ts";
import { McpToolsSchema } from "../../../src/gen/agent/v1/mcp_pb.ts";
import type { RequestContextSchema } from "../../../src/gen/agent/v1/request_context_pb.ts";
import {
  AgentClientMessageSchema,
  AgentRunRequestSchema,
  type AgentServerMessage,
  AgentServerMessageSchema,
} from "../../../src/gen/agent/v1/run_pb.ts";
import { callHeaders } from "../../../src/wire/agent/headers.ts";
import { BidiRun } from "../../../src/wire/connect/bidi-run.ts";
import { decodeMessage } from "../../../src/wire/connect/decode-message.ts";
import type { RunEnd, RunListener, RunStream } from "../../../src/wire/connect/run-stream.ts";
import { openSseRun } from "../../../src/wire/connect/sse-run.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import type { HttpTransport } from "../../../src/wire/http/http.ts";
import type { WireLimits } from "../../../src/wire/limits.ts";

export type ClientMessage = MessageInitShape<typeof AgentClientMessageSchema>["message"] & object;
type Tool = (args: JsonObject) => string | Promise<string>;

/** Whoever wants to answer a message of the backend in its own way returns true. */
export type Intercept = (message: AgentServerMessage["message"], send: (message: ClientMessage) => void) => boolean;

export interface ClientOptions {
  readonly url: string;
  readonly transport: "h2" | "h1";
  readonly token?: string;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly context?: MessageInitShape<typeof RequestContextSchema>;
  readonly limits?: Partial<WireLimits>;
  /** Trusted instead of the world's authorities. */
  readonly ca?: string;
  /** Stands between this client and the network, to record it. */
  readonly wrap?: (transport: HttpTransport, name: "h1" | "h2") => HttpTransport;
}

export interface RunOptions {
  readonly intercept?: Intercept;
  readonly request?: MessageInitShape<typeof AgentRunRequestSchema>;
  readonly signal?: AbortSignal;
  /** Called when the request has been sent. */
  readonly onOpen?: (send: (message: ClientMessage) => void) => void;
  /** Told of every message, before it is answered. */
  readonly onMessage?: (message: AgentServerMessage["message"], stream: RunStream) => void;
}

/** All that a client sees of one run. */
export interface RunRecord {
  text: string;
  thinking: string;
  readonly updates: string[];
  readonly messages: AgentServerMessage[];
  readonly execs: ExecServerMessage[];
  usage: TurnEndedUpdate | undefined;
  error: ExcursorError | undefined;
  end: RunEnd | undefined;
}

/**
 * A well-behaved client of the backend on our own wire: it keeps blobs and the last checkpoint, answers what it is
 * asked and runs its tools. Over both transports.
 */
export class BackendClient {
  readonly #options: ClientOptions;
  readonly #http1: HttpTransport;
  readonly #pool: HttpTransport;
  readonly blobs = new Map<string, Uint8Array>();
  readonly conversationId = randomUUID();
  state: ConversationStateStructure | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    const ca = options.ca === undefined ? {} : { ca: options.ca };
    const wrap = options.wrap ?? ((transport) => transport);
    this.#http1 = wrap(createHttp1Transport(ca), "h1");
    this.#pool = wrap(createConnectionPool(ca), "h2");
  }

  close(): void {
    this.#pool.destroy();
    this.#http1.destroy();
  }

  storeBlob(content: Uint8Array | string): Uint8Array {
    const bytes = Buffer.from(content);
    const id = createHash("sha256").update(bytes).digest();
    this.blobs.set(id.toString("hex"), bytes);
    return id;
  }

  storeRoots(messages: readonly JsonObject[]): Uint8Array[] {
    return messages.map((message) => this.storeBlob(JSON.stringify(message)));
  }

  say(text: string, options: RunOptions = {}): Promise<RunRecord> {
    return this.run(
      { action: { case: "userMessageAction", value: { userMessage: { text, messageId: randomUUID() } } } },
      options,
    );
  }

  resume(options: RunOptions = {}): Promise<RunRecord> {
    return this.run({ action: { case: "resumeAction", value: {} } }, options);
  }

  run(action: MessageInitShape<typeof ConversationActionSchema>, options: RunOptions = {}): Promise<RunRecord> {
    const record: RunRecord = {
      text: "",
      thinking: "",
      updates: [],
      messages: [],
      execs: [],
      usage: undefined,
      error: undefined,
      end: undefined,
    };
    return new Promise((resolve) => {
      const stream = this.open(
        {
          message: (payload) => {
            const message = this.#decode(payload, record);
            if (!message) {
              stream.cancel();
              return;
            }
            record.messages.push(message);
            options.onMessage?.(message.message, stream);
            this.#note(message, record);
            if (options.intercept?.(message.message, send)) return;
            void this.#answer(message.message, send);
          },
          done: (error, end) => {
            record.error ??= error;
            record.end = end;
            resolve(record);
          },
        },
        options.signal,
      );
      const send = (message: ClientMessage) => {
        stream.send(toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message })));
      };
      send({
        case: "runRequest",
        value: create(AgentRunRequestSchema, {
          ...(this.state ? { conversationState: this.state } : {}),
          action: create(ConversationActionSchema, action),
          conversationId: this.conversationId,
          mcpTools: create(McpToolsSchema, { mcpTools: this.toolDefinitions() }),
          ...options.request,
        } as MessageInitShape<typeof AgentRunRequestSchema>),
      });
      options.onOpen?.(send);
    });
  }

  open(listener: RunListener, signal?: AbortSignal): RunStream {
    const run = this.#connect(listener);
    signal?.addEventListener("abort", () => run.cancel(), { once: true });
    return run;
  }

  #connect(listener: RunListener): RunStream {
    const { url: origin, transport, token = "tester", limits = {} } = this.#options;
    const requestId = randomUUID();
    const caller = { token, requestId };
    const rest = { origin, listener, limits };
    if (transport === "h2") return new BidiRun({ transport: this.#pool, headers: callHeaders("run", caller), ...rest });
    const headers = callHeaders("run-sse", caller);
    const appendHeaders = callHeaders("append", caller);
    return openSseRun({ transport: this.#http1, requestId, headers, appendHeaders, ...rest });
  }

  toolDefinitions() {
    return Object.keys(this.#options.tools ?? {}).map((toolName) => ({
      name: `gw-${toolName}`,
      toolName,
      providerIdentifier: "gw",
      inputSchema: fromJson(ValueSchema, { type: "object" }),
    }));
  }

  #decode(payload: Uint8Array, record: RunRecord): AgentServerMessage | undefined {
    try {
      return decodeMessage(AgentServerMessageSchema, payload);
    } catch (error) {
      record.error = ExcursorError.from(error);
      return undefined;
    }
  }

  #note({ message }: AgentServerMessage, record: RunRecord): void {
    if (message.case === "conversationCheckpointUpdate") this.state = message.value;
    if (message.case === "execServerMessage") record.execs.push(message.value);
    if (message.case !== "interactionUpdate") return;
    const update = message.value.message;
    record.updates.push(update.case ?? "unknown");
    if (update.case === "textDelta") record.text += update.value.text;
    if (update.case === "thinkingDelta") record.thinking += update.value.text;
    if (update.case === "turnEnded") record.usage = update.value;
  }

  async #answer(message: AgentServerMessage["message"], send: (message: ClientMessage) => void): Promise<void> {
    switch (message.case) {
      case "kvServerMessage": {
        const { id, message: kv } = message.value;
        if (kv.case === "setBlobArgs") this.blobs.set(Buffer.from(kv.value.blobId).toString("hex"), kv.value.blobData);
        const blobData = kv.case === "getBlobArgs" && this.blobs.get(Buffer.from(kv.value.blobId).toString("hex"));
        send({
          case: "kvClientMessage",
          value:
            kv.case === "setBlobArgs"
              ? { id, message: { case: "setBlobResult", value: {} } }
              : { id, message: { case: "getBlobResult", value: blobData ? { blobData } : {} } },
        });
        break;
      }
      case "execServerMessage": {
        const { id, execId } = message.value;
        const result = await this.#exec(message.value);
        send({ case: "execClientMessage", value: { id, execId, ...(result ? { message: result } : {}) } });
        send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } });
        break;
      }
      case "interactionQuery":
        send({
          case: "interactionResponse",
          value: {
            id: message.value.id,
            result: { case: "webSearchRequestResponse", value: { result: { case: "approved", value: {} } } },
          },
        });
        break;
    }
  }

  async #exec({ message }: ExecServerMessage): Promise<MessageInitShape<typeof ExecClientMessageSchema>["message"]> {
    if (message.case === "requestContextArgs") {
      const requestContext = { ...this.#options.context };
      return { case: "requestContextResult", value: { result: { case: "success", value: { requestContext } } } };
    }
    if (message.case !== "mcpArgs") throw new Error(`${message.case}: a test must answer this itself`);
    const tool = this.#options.tools?.[message.value.toolName];
    const args = Object.fromEntries(
      Object.entries(message.value.args).map(([key, value]) => [key, toJson(ValueSchema, value)]),
    ) as JsonObject;
    const text = (await tool?.(args)) ?? "";
    return {
      case: "mcpResult",
      value: { result: { case: "success", value: { content: [{ content: { case: "text", value: { text } } }] } } },
    };
  }
}
