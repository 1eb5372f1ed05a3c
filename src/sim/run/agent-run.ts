import { create, toBinary } from "@bufbuild/protobuf";
import { awaitedLater } from "../../core/ignored-failures.ts";
import type { ConversationAction } from "../../gen/agent/v1/action_pb.ts";
import { ContextInjectionStateSchema } from "../../gen/agent/v1/interaction_pb.ts";
import {
  type AgentClientMessage,
  AgentClientMessageSchema,
  type AgentRunRequest,
  type AgentServerMessage,
  AgentServerMessageSchema,
} from "../../gen/agent/v1/run_pb.ts";
import { ClientRequests } from "../../wire/agent/client-requests.ts";
import { OfferedTools } from "../../wire/agent/exec/offered-tools.ts";
import { SERVER_HEARTBEAT } from "../../wire/agent/heartbeat.ts";
import type { Update } from "../../wire/agent/messages.ts";
import { userMessagesOf } from "../../wire/agent/read-run-request.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { Account } from "../accounts.ts";
import type { Backend } from "../backend.ts";
import { identityOf } from "../endpoints/identity.ts";
import type { FrameWriter } from "../frame-writer.ts";
import { decodeBinary, failureFrom } from "../rpc.ts";
import { parseScripts } from "../script/parse.ts";
import { play } from "../script/play.ts";
import type { Step } from "../script/step.ts";
import { AgentStage } from "./agent-stage.ts";
import { endBeforeStream } from "./before-stream.ts";
import { ClientStream, StreamGone, TurnCancelled } from "./client-stream.ts";
import { echoOf } from "./echo.ts";
import { contextTokens } from "./model-window.ts";
import { brief, type RunInput } from "./run-input.ts";
import { RunTrace } from "./run-trace.ts";

/** Some clients confirm no blobs, and the real backend goes on without. */
const CONFIRM_BLOB_MS = 500;

const HEARTBEAT = create(AgentServerMessageSchema, { message: SERVER_HEARTBEAT });

/**
 * One run of `agent.v1`, over either transport. Receives the client's messages, plays the script, and ends exactly
 * once.
 */
export class AgentRun {
  readonly #backend: Backend;
  readonly #account: Account;
  readonly #requestId: string;
  readonly #out: FrameWriter;
  readonly #trace: RunTrace;
  readonly #clientStream: ClientStream;
  readonly #client: ClientRequests;
  /** The steps of the current turn. A client that steers adds to them. */
  readonly #steps: Step[] = [];
  #runInput: RunInput | undefined;
  #hasStarted = false;
  /** What precedes the first frame of a run. A prewarm request begins it early. */
  #bootstrap: Promise<void> | undefined;
  /** Ends the run if the client sends nothing for too long. */
  #idle: NodeJS.Timeout | undefined;
  #isStopped = false;
  #noted: ConnectFailure | undefined;

  constructor(backend: Backend, account: Account, requestId: string, out: FrameWriter) {
    const { options } = backend;
    this.#backend = backend;
    this.#account = account;
    this.#requestId = requestId;
    this.#out = out;
    this.#trace = new RunTrace(options.trace, requestId, out.exchange.transport);
    this.#clientStream = new ClientStream(out, {
      everyMs: options.heartbeatMs,
      encode: () => {
        this.#trace.sent(HEARTBEAT);
        return toBinary(AgentServerMessageSchema, HEARTBEAT);
      },
    });
    this.#client = new ClientRequests({
      send: (message) => this.#send(message),
      onViolation: ({ code, message }) => {
        const failure = new ConnectFailure(code, message);
        this.#noteViolation(failure);
        if (!options.isLenient) throw failure;
      },
      onUnawaited: (error) => {
        if (error instanceof ConnectFailure) this.stop(error);
      },
      answerTimeoutMs: options.answerTimeoutMs,
      confirmWithinMs: CONFIRM_BLOB_MS,
    });
    if (options.idleMs > 0) {
      const failure = new ConnectFailure("deadline_exceeded", "Timeout waiting for next item.");
      this.#idle = setTimeout(() => this.#fail(failure), options.idleMs).unref();
    }
    this.#trace.note("open", { account: account.id });
    out.exchange.onOver((wasCut) => {
      clearTimeout(this.#idle);
      this.#trace.over(wasCut, out.failure);
      this.#client.abandon(new StreamGone());
      this.#clientStream.end();
    });
  }

  receive(payload: Uint8Array): void {
    if (this.#isStopped) return;
    this.#idle?.refresh();
    try {
      this.#receive(decodeBinary(AgentClientMessageSchema, payload));
    } catch (error) {
      this.stop(failureFrom(error));
    }
  }

  stop(failure: ConnectFailure): void {
    this.#noteViolation(failure);
    this.#fail(failure);
  }

  #fail(failure: ConnectFailure): void {
    this.#isStopped = true;
    this.#clientStream.stop(failure);
    this.#client.abandon(failure);
    if (!this.#hasStarted) this.#out.end(failure);
  }

  /** Notes a failure once, even if it is reported twice. */
  #noteViolation(failure: ConnectFailure): void {
    if (this.#noted !== failure) this.#trace.note("violation", failure.message);
    this.#noted = failure;
  }

  #receive(message: AgentClientMessage): void {
    this.#trace.received(message);
    switch (message.message.case) {
      case "runRequest":
        if (this.#hasStarted) this.#client.violate("run_request", "this run has begun already");
        else void this.#run(message.message.value);
        break;
      case "prewarmRequest":
        // Real clients also send it during a run, where it has nothing to prepare.
        if (!this.#hasStarted && !this.#bootstrap) void awaitedLater(this.#prepare());
        break;
      case "conversationAction":
        this.#act(message.message.value);
        break;
      default:
        this.#client.receive(message.message);
    }
  }

  async #run(request: AgentRunRequest): Promise<void> {
    this.#hasStarted = true;
    try {
      const asked = request.action ? userMessagesOf(request.action).map((message) => message.text) : [];
      const tools = new OfferedTools(request.mcpTools?.mcpTools ?? []);
      const offers = (tool: string) => tools.find(tool) !== undefined;
      if (endBeforeStream(asked.join("\n"), this.#out, this.#backend, this.#account, offers)) return;
      await this.#prepare();
      if (request.action?.action.case === "backgroundTaskCompletionAction") return this.#acknowledge();
      const runInput = await brief(request, this.#requestId, this.#client, this.#backend.options);
      this.#runInput = runInput;
      await this.#answer(request, runInput);
    } catch (error) {
      // Cancelled before anything was sent.
      if (error instanceof TurnCancelled) this.#out.end();
      else if (!(error instanceof StreamGone)) this.#out.end(failureFrom(error));
    } finally {
      this.#clientStream.end();
      this.#client.abandon(new StreamGone());
    }
  }

  /** Ends the run at once, without tokens: a task in the background has ended, and there is nothing to say. */
  #acknowledge(): void {
    this.#update({
      case: "turnEnded",
      value: { inputTokens: 0n, outputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n },
    });
    this.#out.end();
  }

  /** Opens the stream and prepares the run, once. */
  #prepare(): Promise<void> {
    this.#bootstrap ??= (async () => {
      this.#out.open();
      await this.#clientStream.sleep(this.#backend.options.bootstrapMs);
      this.#trace.note("bootstrap", {});
    })();
    return this.#bootstrap;
  }

  async #answer(request: AgentRunRequest, runInput: RunInput): Promise<void> {
    const { tally } = this.#backend;
    const { script, turn, turnCount, from } = runInput;
    const source = script?.source ?? "";
    // A client may already have added steps by steering.
    this.#steps.unshift(...(script?.steps ?? []));

    const stage = new AgentStage({
      clientStream: this.#clientStream,
      client: this.#client,
      transcript: runInput.transcript,
      tools: runInput.tools,
      trace: this.#trace,
      received: Object.defineProperty(runInput.received, "user", { value: this.#account.id }) as never,
      startedFrom: runInput.startedFrom,
      turnStart: turn.start,
      inputTokens: runInput.inputTokens,
      maxTokens: contextTokens(runInput.modelId, runInput.isMaxMode),
      charge: ({ input, output, cached, written }) =>
        this.#backend.charges.add({
          accountId: identityOf(this.#account).authId,
          at: Date.now(),
          conversationId: request.conversationId ?? "",
          model: runInput.modelId,
          inputTokens: input,
          outputTokens: output,
          cacheReadTokens: cached,
          cacheWriteTokens: written,
        }),
    });
    try {
      if (request.action?.action.case === "summarizeAction") {
        stage.summarize(`The conversation so far: ${turnCount} turns.`);
        return await stage.finish(0, undefined);
      }
      const usage = await play(
        {
          steps: this.#steps,
          from,
          results: turn.results,
          echo: echoOf(turn.text),
          isDue: (index, times) => tally.take(this.#account.id, source, index, times),
        },
        stage,
      );
      await stage.finish(this.#steps.length, usage);
      tally.forget(this.#account.id, source);
    } catch (error) {
      if (error instanceof StreamGone) stage.charge();
      if (!(error instanceof TurnCancelled)) throw error;
      this.#clientStream.revive();
      await stage.finish(this.#steps.length, undefined);
    }
  }

  /** Handles an action of the client during the run. */
  #act(action: ConversationAction): void {
    if (action.action.case === "cancelAction") {
      const cancelled = new TurnCancelled();
      this.#clientStream.stop(cancelled);
      this.#client.abandon(cancelled);
      return;
    }
    if (action.action.case === "injectContextAction") {
      const { injectionId } = action.action.value;
      const state = create(ContextInjectionStateSchema, { state: { case: "delivered", value: {} } });
      this.#update({ case: "contextInjectionState", value: { injectionId, state } });
    }
    for (const message of userMessagesOf(action)) {
      this.#runInput?.transcript.addUser(message, message.text);
      this.#steps.push(...(parseScripts(message.text)[0]?.steps ?? []));
      this.#update({ case: "userMessageAppended", value: { userMessage: message } });
    }
  }

  #update(message: Update): void {
    this.#send(create(AgentServerMessageSchema, { message: { case: "interactionUpdate", value: { message } } }));
  }

  #send(message: AgentServerMessage): void {
    this.#trace.sent(message);
    void this.#clientStream.write(toBinary(AgentServerMessageSchema, message));
  }
}
