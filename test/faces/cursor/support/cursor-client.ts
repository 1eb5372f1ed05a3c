import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { ExcursorError } from "../../../../src/core/errors.ts";
import type { RunPeer, ServeRun } from "../../../../src/faces/cursor/run-peer.ts";
import type { ConversationStateStructure } from "../../../../src/gen/agent/v1/conversation_pb.ts";
import type { ExecClientMessageSchema, ExecServerMessage } from "../../../../src/gen/agent/v1/exec_pb.ts";
import type { InteractionUpdate } from "../../../../src/gen/agent/v1/interaction_pb.ts";
import type { RequestContextSchema } from "../../../../src/gen/agent/v1/request_context_pb.ts";
import {
  type AgentRunRequestSchema,
  type AgentServerMessage,
  AgentServerMessageSchema,
} from "../../../../src/gen/agent/v1/run_pb.ts";
import { type ClientMessage, encodeClientMessage } from "../../../../src/wire/agent/messages.ts";

type RunInit = MessageInitShape<typeof AgentRunRequestSchema>;

type ExecResult = MessageInitShape<typeof ExecClientMessageSchema>["message"] & object;

export interface ClientOptions {
  readonly folder: string;
  readonly serve: ServeRun;
  readonly headers?: Readonly<Record<string, string>>;
  readonly context?: MessageInitShape<typeof RequestContextSchema>;
  /** Replies to an exec instead of the client; undefined: the client does it. `never`: no reply. */
  readonly reply?: (exec: ExecServerMessage) => ExecResult | "never" | undefined;
}

/** Plays Cursor's client in memory: keeps blobs and checkpoints, and answers execs in a real folder. */
export class CursorClient {
  readonly options: ClientOptions;
  /** Kept over runs, as a client's store is. */
  readonly blobs = new Map<string, Uint8Array>();
  state: ConversationStateStructure | undefined;
  /** Execs that were carried out, over all runs. */
  readonly executed: string[] = [];

  constructor(options: ClientOptions) {
    this.options = options;
  }

  run(request: RunInit, requestId = "req-1"): ClientRun {
    return new ClientRun(this, request, requestId);
  }

  ask(text: string, more: RunInit = {}): ClientRun {
    const action = { action: { case: "userMessageAction" as const, value: { userMessage: { text } } } };
    return this.run({ action, ...(this.state && { conversationState: this.state }), ...more } as RunInit);
  }

  resume(more: RunInit = {}): ClientRun {
    const action = { action: { case: "resumeAction" as const, value: {} } };
    return this.run({ action, ...(this.state && { conversationState: this.state }), ...more } as RunInit, "req-2");
  }
}

/** One run of that client. */
export class ClientRun {
  readonly updates: InteractionUpdate["message"][] = [];
  readonly execs: ExecServerMessage[] = [];
  /** What came, by kind, in order. */
  readonly kinds: string[] = [];
  readonly checkpoints: ConversationStateStructure[] = [];
  error: ExcursorError | undefined;
  readonly ended: Promise<void>;
  readonly #client: CursorClient;
  #listener: Parameters<RunPeer["listen"]>[0] | undefined;
  readonly #onEnded: () => void;
  #isCut = false;
  /** Called with each message before it is handled; true cuts the stream there. */
  cutAt: ((kind: string, count: number) => boolean) | undefined;
  onKind: ((kind: string) => void) | undefined;

  constructor(client: CursorClient, request: RunInit, requestId: string) {
    this.#client = client;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#onEnded = resolve;
    client.options.serve(
      {
        requestId,
        principal: { id: "key:test", token: undefined },
        header: (name) => client.options.headers?.[name],
        listen: (listener) => {
          this.#listener = listener;
          queueMicrotask(() => this.send({ case: "runRequest", value: { runId: "run-1", ...request } }));
        },
        send: (payload) => this.#receive(fromBinary(AgentServerMessageSchema, payload)),
        end: (error) => {
          this.error = error;
          resolve();
        },
      },
      "m",
    );
  }

  get text(): string {
    return this.updates.map((update) => (update.case === "textDelta" ? update.value.text : "")).join("");
  }

  get thinking(): string {
    return this.updates.map((update) => (update.case === "thinkingDelta" ? update.value.text : "")).join("");
  }

  send(message: ClientMessage): void {
    this.#listener?.message(encodeClientMessage(message));
  }

  /** The stream breaks. */
  cut(): void {
    this.#isCut = true;
    this.#listener?.gone();
    this.#onEnded();
  }

  #receive({ message }: AgentServerMessage): undefined {
    if (this.#isCut) return;
    const kind = message.case === "interactionUpdate" ? String(message.value.message.case) : String(message.case);
    this.kinds.push(kind);
    if (this.cutAt?.(kind, this.kinds.length)) {
      this.cut();
      return;
    }
    this.onKind?.(kind);
    switch (message.case) {
      case "interactionUpdate":
        this.updates.push(message.value.message);
        break;
      case "conversationCheckpointUpdate":
        this.checkpoints.push(message.value);
        this.#client.state = message.value;
        for (const id of [...message.value.turns, ...message.value.rootPromptMessagesJson]) {
          if (!this.#client.blobs.has(Buffer.from(id).toString("hex")))
            throw new Error("a checkpoint names a blob too early");
        }
        break;
      case "kvServerMessage":
        queueMicrotask(() => this.#answerKv(message.value));
        break;
      case "execServerMessage":
        this.execs.push(message.value);
        queueMicrotask(() => this.#answerExec(message.value));
        break;
    }
    return undefined;
  }

  #answerKv({ id, message }: Extract<AgentServerMessage["message"], { case: "kvServerMessage" }>["value"]): void {
    if (this.#isCut) return;
    const { blobs } = this.#client;
    if (message.case === "setBlobArgs") {
      blobs.set(Buffer.from(message.value.blobId).toString("hex"), message.value.blobData);
      this.send({ case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } });
    } else if (message.case === "getBlobArgs") {
      const blobData = blobs.get(Buffer.from(message.value.blobId).toString("hex"));
      const value = blobData ? { blobData } : {};
      this.send({ case: "kvClientMessage", value: { id, message: { case: "getBlobResult", value } } });
    }
  }

  #answerExec(exec: ExecServerMessage): void {
    if (this.#isCut) return;
    const { context, reply } = this.#client.options;
    if (exec.message.case === "requestContextArgs") {
      this.reply(exec, {
        case: "requestContextResult",
        value: { result: { case: "success", value: { requestContext: context ?? {} } } },
      });
      return;
    }
    const own = reply?.(exec);
    if (own === "never") return;
    for (const result of own ? [own] : this.#execute(exec)) this.reply(exec, result);
  }

  reply({ id }: ExecServerMessage, message: ExecResult): void {
    this.send({ case: "execClientMessage", value: { id, message } });
    if (message.case !== "shellStream") {
      this.send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } });
    }
  }

  #execute({ message }: ExecServerMessage): ExecResult[] {
    const { folder } = this.#client.options;
    const { executed } = this.#client;
    const at = (path: string) => join(folder, path);
    switch (message.case) {
      case "readArgs": {
        const { path } = message.value;
        executed.push(`read ${path}`);
        if (!existsSync(at(path)))
          return [{ case: "readResult", value: { result: { case: "fileNotFound", value: { path } } } }];
        // Like Buffer.toString, and unlike the official client, it keeps the byte order mark in the text.
        const content = readFileSync(at(path)).toString("utf8");
        const success = {
          path,
          output: { case: "content" as const, value: content },
          truncated: content.length > 100_000,
        };
        return [{ case: "readResult", value: { result: { case: "success", value: success } } }];
      }
      case "writeArgs": {
        const { path, fileText } = message.value;
        executed.push(`write ${path}`);
        writeFileSync(at(path), fileText);
        return [{ case: "writeResult", value: { result: { case: "success", value: { path } } } }];
      }
      case "deleteArgs": {
        executed.push(`delete ${message.value.path}`);
        rmSync(at(message.value.path));
        return [{ case: "deleteResult", value: { result: { case: "success", value: { path: message.value.path } } } }];
      }
      case "shellStreamArgs": {
        const { command } = message.value;
        executed.push(`shell ${command}`);
        const { stdout, status } = spawnSync("/bin/sh", ["-c", command], { cwd: folder, encoding: "utf8" });
        const event = (value: object) => ({ case: "shellStream", value: { event: value } }) as ExecResult;
        return [
          event({ case: "start", value: {} }),
          event({ case: "stdout", value: { data: stdout } }),
          event({ case: "exit", value: { code: status ?? 1 } }),
        ];
      }
      case "mcpArgs": {
        executed.push(`mcp ${message.value.toolName}`);
        const content = [
          { content: { case: "text" as const, value: { text: `result of ${message.value.toolName}` } } },
        ];
        return [{ case: "mcpResult", value: { result: { case: "success", value: { content } } } }];
      }
      default:
        throw new Error(`no exec for ${message.case}`);
    }
  }
}
