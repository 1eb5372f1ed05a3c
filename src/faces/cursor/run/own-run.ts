import { create, fromBinary } from "@bufbuild/protobuf";
import { runAgentLoop } from "../../../core/engine/agent-loop.ts";
import type { Engine } from "../../../core/engine/engine.ts";
import { CANCELED, ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import { isRequestId } from "../../../core/http/request-id.ts";
import type { AssistantMessage, ToolCallPart, ToolMessage } from "../../../core/turn.ts";
import type { ConversationAction } from "../../../gen/agent/v1/action_pb.ts";
import {
  type ConversationStateStructure,
  ConversationStateStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import {
  type AgentClientMessage,
  AgentClientMessageSchema,
  type AgentRunRequest,
} from "../../../gen/agent/v1/run_pb.ts";
import { ClientRequests } from "../../../wire/agent/client-requests.ts";
import { SERVER_HEARTBEAT } from "../../../wire/agent/heartbeat.ts";
import { blobSource, requestContexts, userMessagesOf } from "../../../wire/agent/read-run-request.ts";
import type { BlobSource } from "../../../wire/agent/state/blobs.ts";
import { summarizedState } from "../../../wire/agent/state/summary.ts";
import type { RunPeer } from "../run-peer.ts";
import { askSummary } from "./ask-summary.ts";
import { Checkpoints, type Snapshot } from "./checkpoints.ts";
import { completeCalls, unfinished } from "./complete-calls.ts";
import { systemOf } from "./instructions.ts";
import type { KeptRun } from "./kept-run.ts";
import { modeOf } from "./mode.ts";
import { OwnConversation } from "./own-conversation.ts";
import { actionOf, effortOf, type TurnParts, turnOf } from "./parse.ts";
import { QueuedMessages } from "./queued-messages.ts";
import { callCompleted, EventRenderer, encodeServerMessage, encodeUpdate } from "./render.ts";
import { explainLostBlob, readTodos } from "./state.ts";
import { ToolRuns, toolLoop } from "./tool-runs.ts";
import type { ToolOutcome } from "./tools/tool.ts";
import { RunTools } from "./tools/toolbox.ts";

export interface OwnRunParts {
  readonly engine: Pick<Engine, "run" | "findModel">;
  readonly peer: RunPeer;
  readonly model: string;
  readonly instructions: string | undefined;
  /** How many rounds of tools one run may have. */
  readonly maxSteps: number;
  readonly heartbeatMs: number;
  /** How long the client may take for blobs and its request context. */
  readonly answerTimeoutMs: number;
  /** Throws if the caller may no longer use our models. */
  readonly checkCaller: () => void;
  /** Finds what an earlier attempt at this run did, after that attempt has stopped. */
  readonly openKept: (request: AgentRunRequest) => Promise<KeptRun>;
}

const LOST =
  "The connection was lost while this call ran, so its outcome is not known. It was not made again: check what it did before you repeat it.";

/** One run of one of our own models: reads the request, runs the agent loop, and ends the stream exactly once. */
export class OwnRun {
  readonly #parts: OwnRunParts;
  readonly #client: ClientRequests;
  readonly #abort = new AbortController();
  readonly #heartbeat: NodeJS.Timeout;
  readonly #queue: QueuedMessages;
  readonly #tools: ToolRuns;
  readonly #checkpoints: Checkpoints;
  readonly #conversation: OwnConversation;
  /** Resolves when the run has ended, however it did. */
  readonly ended: Promise<void>;
  readonly #onEnded: () => void;
  #kept: KeptRun | undefined;
  #renderer = new EventRenderer((name, args, id) => this.#tools.display({ name, args, id }));
  #maxTokens = 0;
  #hasStarted = false;
  #isGone = false;
  #isOver = false;
  #failure: ExcursorError | undefined;

  constructor(parts: OwnRunParts) {
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#onEnded = resolve;
    this.#client = new ClientRequests({
      send: ({ message }) => void (message.case && this.#send(encodeServerMessage(message))),
      onViolation: ({ message }) => {
        throw new ExcursorError("protocol_violation", message, {
          hint: "The client sent what the protocol does not allow here. Start the run again.",
        });
      },
      onUnawaited: (error) => this.stop(ExcursorError.from(error)),
      answerTimeoutMs: parts.answerTimeoutMs,
    });
    this.#conversation = new OwnConversation(parts.peer.requestId, (call) => this.#tools.display(call));
    this.#queue = new QueuedMessages((update) => void this.#send(encodeUpdate(update)));
    this.#checkpoints = new Checkpoints(this.#client, (payload) => void this.#send(payload));
    this.#tools = new ToolRuns({
      client: this.#client,
      send: (payload) => void this.#send(payload),
      maxSteps: parts.maxSteps,
      signal: this.#abort.signal,
      isCancelled: () => this.#abort.signal.aborted && !this.#failure,
    });
    this.#heartbeat = setInterval(() => this.#send(encodeServerMessage(SERVER_HEARTBEAT)), parts.heartbeatMs);
  }

  /** Takes one message of the client. Messages after the end are ignored. */
  receive(payload: Uint8Array): void {
    if (this.#isOver || this.#failure) return;
    try {
      this.#receive(decode(payload));
    } catch (error) {
      this.stop(ExcursorError.from(error));
    }
  }

  /** The client is gone: nothing can be sent any more. */
  gone(): void {
    this.#isGone = true;
    this.stop(CANCELED);
  }

  /** Ends the run with this error, wherever it is. */
  stop(error: ExcursorError): void {
    if (this.#isOver || this.#failure) return;
    this.#failure = error;
    this.#abort.abort(error);
    this.#client.abandon(error);
    this.#end();
  }

  #receive({ message }: AgentClientMessage): void {
    switch (message.case) {
      case "runRequest":
        if (this.#hasStarted) this.#client.violate("run_request", "this run has begun already");
        this.#hasStarted = true;
        void this.#run(message.value);
        break;
      case "conversationAction":
        this.#act(message.value);
        break;
      default:
        this.#client.receive(message);
    }
  }

  #act(action: ConversationAction): void {
    if (action.action.case === "cancelAction") {
      this.#tools.abortOpen();
      this.#abort.abort(CANCELED);
      return;
    }
    this.#queue.add(action);
  }

  async #run(request: AgentRunRequest): Promise<void> {
    try {
      await this.#answer(request);
    } catch (error) {
      this.#failure ??= explainLostBlob(error);
    } finally {
      this.#end();
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#heartbeat);
    this.#abort.abort(CANCELED);
    this.#client.abandon(CANCELED);
    if (!this.#isGone) this.#parts.peer.end(this.#failure);
    this.#onEnded();
  }

  async #answer(request: AgentRunRequest): Promise<void> {
    const { engine, peer, model, instructions } = this.#parts;
    const { principal } = peer;
    const { signal } = this.#abort;
    const action = actionOf(request);
    this.#kept = await this.#parts.openKept(request);
    this.#maxTokens = (await engine.findModel(model, principal, signal)).contextTokens;
    const blobs = blobSource(request, this.#client);
    const state = request.conversationState ?? create(ConversationStateStructureSchema);
    await this.#conversation.read(state, action, blobs);
    this.#tools.todos = await readTodos(state, blobs);
    this.#renderer.usedTokens = state.tokenDetails?.usedTokens ?? 0;
    const contexts = await requestContexts(action, this.#client);
    this.#tools.workspace = contexts.flatMap(({ env }) => env?.workspacePaths ?? [])[0];
    const offered = [...(request.mcpTools?.mcpTools ?? []), ...contexts.flatMap((context) => context.tools)];
    const mode = await modeOf(action, state, blobs);
    const tools = new RunTools(offered, contexts, {
      mode,
      allowed: peer.header("x-cursor-agent-allowed-tools"),
      excluded: peer.header("x-cursor-agent-exclude-tools"),
    });
    this.#tools.offered = tools;
    const system = systemOf(request, contexts, instructions, mode);
    const turn = { principal, model, effort: effortOf(request), system, tools: tools.definitions };
    if (action.action.case === "summarizeAction") await this.#summarize(turn, state);
    await this.#readAsked(action, blobs);
    const conversation = this.#conversation;
    conversation.messages = await completeCalls(conversation.messages, (call) => this.#completeLost(call));
    await this.#loop(turn, blobs);
  }

  /** Replaces the conversation with a summary of it. It stays as it is if the model fails or the user cancels. */
  async #summarize(turn: TurnParts, state: ConversationStateStructure): Promise<void> {
    const { engine, checkCaller } = this.#parts;
    const { signal } = this.#abort;
    if (this.#conversation.messages.length === 0) {
      throw new ExcursorError("invalid-request", "This conversation has nothing to summarize.", {
        hint: "Send a message first.",
      });
    }
    const messages = await completeCalls(this.#conversation.messages, async ({ id }) => unfinished(id, LOST));
    void this.#send(encodeUpdate({ case: "summaryStarted", value: {} }));
    try {
      checkCaller();
      let outputTokens = 0;
      const onEvent = (event: TurnEvent) => {
        if (event.type === "activity") this.#record(event);
        if (event.type === "usage") ({ outputTokens } = event.usage);
        if (event.type === "usage" || event.type === "done") this.#renderer.render(event);
      };
      const summary = await askSummary({ engine, turn: turnOf(turn, messages), signal, onEvent });
      const after = await this.#checkpoints.storeBlobs((add) => summarizedState(state, summary, add));
      this.#conversation.summarize(summary, after);
      this.#renderer.usedTokens = outputTokens;
      void this.#send(encodeUpdate({ case: "summary", value: { summary } }));
      void this.#send(encodeUpdate({ case: "summaryCompleted", value: {} }));
    } catch (error) {
      void this.#send(encodeUpdate({ case: "summaryCompleted", value: { failed: true } }));
      if (!signal.aborted) throw error;
    }
  }

  async #readAsked(action: ConversationAction, blobs: BlobSource): Promise<void> {
    const asked = userMessagesOf(action);
    for (const message of asked) await this.#conversation.addUser(message, blobs);
    // The client has lost the checkpoints of an earlier attempt, and not what it did for it.
    if (asked.length > 0) this.#conversation.addRounds(this.#kept?.rounds ?? []);
  }

  /** Finds the result of a call of an earlier attempt. Only a call that changes nothing is made again. */
  async #completeLost(call: ToolCallPart): Promise<ToolMessage> {
    const kept = this.#kept?.resultOf(call.id);
    if (!kept && this.#tools.offered?.find(call.name)?.isReadOnly) return this.#runTool(call);
    const result = kept ?? unfinished(call.id, LOST);
    await this.#endCall(call, { ...result, display: this.#tools.display(call) });
    return result;
  }

  async #loop(turn: TurnParts, blobs: BlobSource): Promise<void> {
    const { engine, checkCaller, peer } = this.#parts;
    const { signal } = this.#abort;
    let isAnswered = this.#conversation.isAnswered;
    for (;;) {
      const end = isAnswered
        ? "stop"
        : await runAgentLoop(this.#conversation.messages, {
            engine,
            tools: { run: (call) => this.#runTool(call) },
            beforeRound: () => this.#takeQueued(blobs),
            beforeCalls: (said) => this.#beginCalls(said),
            turnFor: (messages) => {
              checkCaller();
              return turnOf(turn, messages);
            },
            show: (events) => this.#show(events),
            signal,
            requestId: isRequestId(peer.requestId) ? peer.requestId : undefined,
            keepsThinking: true,
            runsInParallel: true,
            maxRounds: this.#parts.maxSteps + 10,
          });
      if (this.#failure) throw this.#failure;
      if (end === "max-rounds") throw toolLoop();
      // After a cancel the client still stores the last state, so that the next message continues from it.
      await this.#checkpoints.settled();
      const state = await this.#checkpoints.store(() => this.#snapshot());
      if (signal.aborted || this.#queue.isEmpty) {
        void this.#send(this.#renderer.turnEnded());
        const said = [...this.#conversation.transcript.lastParts];
        const staged = said.length === 0 ? [] : [{ ...state, pendingToolCalls: said }];
        for (const value of [...staged, state])
          void this.#send(encodeServerMessage({ case: "conversationCheckpointUpdate", value }));
        return;
      }
      isAnswered = false;
    }
  }

  /** Adds the messages that the user has sent since the last answer. */
  async #takeQueued(blobs: BlobSource): Promise<void> {
    for (const message of this.#queue.take()) await this.#conversation.addUser(message, blobs);
  }

  async #show(events: readonly TurnEvent[]): Promise<void> {
    let full: Promise<void> | undefined;
    for (const event of events) {
      this.#record(event);
      for (const frame of this.#renderer.render(event)) full = this.#send(frame) ?? full;
    }
    await full;
  }

  #record(event: TurnEvent): void {
    this.#conversation.record(event);
    // This protocol's clients cannot be asked, so an agent gets no more than its own settings allow.
    if (event.type === "activity" && event.activity.type === "question") event.activity.answer(undefined);
  }

  /**
   * Writes the calls of a round down, at the client and here, before the first of them is made. If the client is lost before it
   * has the checkpoint, none was made, and the model is asked again.
   */
  async #beginCalls(said: AssistantMessage): Promise<void> {
    const calls = said.content.filter((part) => part.type === "tool-call");
    this.#tools.beginRound();
    this.#conversation.beginCalls(calls);
    void this.#send(encodeUpdate({ case: "toolRequestsListed", value: { callCount: calls.length } }));
    await this.#checkpoint();
    await this.#kept?.begin(said);
  }

  async #runTool(call: ToolCallPart): Promise<ToolMessage> {
    const { content, isError, display } = await this.#tools.run(call);
    const result: ToolMessage = { role: "tool", callId: call.id, content, isError };
    this.#kept?.add(result);
    await this.#endCall(call, { content, isError, display });
    return result;
  }

  async #endCall(call: ToolCallPart, outcome: ToolOutcome): Promise<void> {
    this.#conversation.endCall(call.id, outcome);
    void this.#send(callCompleted(call.id, outcome.display));
    if (!this.#abort.signal.aborted) await this.#checkpoint();
  }

  #checkpoint(): Promise<void> {
    return this.#checkpoints.send(() => this.#snapshot());
  }

  #snapshot(): Snapshot {
    const { transcript } = this.#conversation;
    return { transcript, todos: this.#tools.todos, tokens: { used: this.#renderer.usedTokens, max: this.#maxTokens } };
  }

  #send(payload: Uint8Array): Promise<void> | undefined {
    return this.#isGone || this.#isOver ? undefined : this.#parts.peer.send(payload);
  }
}

function decode(payload: Uint8Array): AgentClientMessage {
  try {
    return fromBinary(AgentClientMessageSchema, payload);
  } catch (cause) {
    throw new ExcursorError("invalid-request", "A message of the client is not an AgentClientMessage.", { cause });
  }
}
