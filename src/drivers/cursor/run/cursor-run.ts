import { randomUUID } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import type { Run, RunContext } from "../../../core/driver.ts";
import { EventQueue } from "../../../core/engine/event-queue.ts";
import { ignoredNotice } from "../../../core/engine/ignored.ts";
import type { RetryBudget } from "../../../core/engine/retry-budget.ts";
import { trimmedNotice } from "../../../core/engine/trimmed.ts";
import { CANCELED, ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import type { CheckpointStore } from "../../../core/history/checkpoints.ts";
import { estimateInputTokens } from "../../../core/rules/usage-estimate.ts";
import type { Message, ToolMessage, Turn } from "../../../core/turn.ts";
import {
  type ConversationStateStructure,
  ConversationStateStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import type { ExecServerMessage } from "../../../gen/agent/v1/exec_pb.ts";
import type { InteractionUpdate, PartialToolCallUpdate } from "../../../gen/agent/v1/interaction_pb.ts";
import type { KvServerMessage } from "../../../gen/agent/v1/kv_pb.ts";
import { AgentServerMessageSchema } from "../../../gen/agent/v1/run_pb.ts";
import { decodeDelta } from "../../../wire/agent/delta.ts";
import type { Caller } from "../../../wire/agent/headers.ts";
import { EXEC_HEARTBEAT_MS } from "../../../wire/agent/heartbeat.ts";
import { reachableIds } from "../../../wire/agent/state/reachable.ts";
import { decodeMessage } from "../../../wire/connect/decode-message.ts";
import type { RunEnd } from "../../../wire/connect/run-stream.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";
import type { Endpoint } from "../account/endpoint.ts";
import type { EncodingKind, ResolvedModel } from "../models/model.ts";
import { replyToExec } from "../replies/reply-to-exec.ts";
import { replyToKv } from "../replies/reply-to-kv.ts";
import { replyToQuery } from "../replies/reply-to-query.ts";
import { Offer } from "../request/offer.ts";
import { type Prompt, preparePrompt, rebuildPrompt } from "../request/prompt.ts";
import { encodeRunRequest } from "../request/run-request.ts";
import { Attempts } from "./attempts.ts";
import type { Farewells } from "./farewells.ts";
import { PendingCalls } from "./pending-calls.ts";
import { ResumeWatch } from "./resume-watch.ts";
import { Shown } from "./shown.ts";
import { AgentStream, type Outgoing, type Transports } from "./stream.ts";
import { StreamedArgs } from "./streamed-args.ts";
import type { UnknownTally } from "./unknown.ts";
import { runningUsage, usageOf } from "./usage.ts";

/** All that a run needs to know before it begins. */
export interface RunPlan {
  readonly credential: AccountCredential;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly model: ResolvedModel;
  /** The turn as it is sent: what does not fit the model's window may have been left out. */
  readonly turn: Turn;
  /** How many messages that are. */
  readonly trimmedMessages: number;
  /** Whose checkpoints these are: principal and account. Another account's mean nothing to the backend. */
  readonly owner: string;
}

export interface CursorRunParts {
  readonly turn: Turn;
  readonly context: RunContext;
  readonly transports: Transports;
  readonly checkpoints: CheckpointStore;
  /** Finds out what is needed; its failure is the run's. */
  readonly plan: () => Promise<RunPlan>;
  /** The same with another token, after the backend has refused this one's; undefined if there is no other. */
  readonly renew: (plan: RunPlan) => Promise<RunPlan | undefined>;
  /** The encoding of the model's name that worked after the other did not. */
  readonly onEncoding: (baseId: string, kind: EncodingKind) => void;
  readonly retries: RetryBudget;
  /** Of all runs of the driver. */
  readonly farewells: Farewells;
  /** Told of what the schema does not know, after it was answered. */
  readonly unknown: UnknownTally;
}

/** How long the last checkpoint and the end of the stream may come after the end of a turn. */
const LAST_CHECKPOINT_MS = 2000;

/**
 * One answer of the agent protocol, over as many attempts as it takes. It answers what the backend asks, shows what
 * the model says, and keeps the checkpoint that the next turn continues from.
 */
export class CursorRun implements Run {
  readonly #parts: CursorRunParts;
  readonly #queue: EventQueue;
  readonly #offer: Offer;
  readonly #calls = new PendingCalls(() => this.#waitForResults());
  readonly #streamed = new StreamedArgs();
  readonly #watch = new ResumeWatch();
  readonly #runId = randomUUID();
  readonly #shown = new Shown();
  #plan: RunPlan | undefined;
  #prompt: Prompt | undefined;
  #attempts: Attempts | undefined;
  #stream: AgentStream | undefined;
  #state: ConversationStateStructure | undefined;
  /** The backend has sent something: it has begun, whether or not it shows. */
  #hasBegun = false;
  #countedTokens = 0;
  /** What the model has read, about. */
  #readTokens: number | undefined;
  /** Those of the counted that came before the last results. */
  #countedBefore = 0;
  #phase: "running" | "waiting" | "finished" | "over" = "running";
  /** The last checkpoint is stored. */
  #isKept = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: CursorRunParts) {
    const { turn } = parts;
    this.#parts = parts;
    this.#offer = new Offer(turn.system, turn.toolChoice.type === "none" ? [] : turn.tools);
    this.#queue = new EventQueue({
      onPressure: (isFull) => (isFull ? this.#stream?.pause() : this.#stream?.resume()),
      onLeave: () => this.cancel(),
    });
    void this.#start();
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#queue[Symbol.asyncIterator]();
  }

  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean {
    if (this.#phase !== "waiting") return false;
    const messages = this.#calls.answer(results);
    if (this.#calls.size > 0) return false;
    this.#shown.begin(history);
    this.#countedBefore = this.#countedTokens;
    clearInterval(this.#timer);
    this.#watch.start((error) => this.#fail(error));
    this.#phase = "running";
    // To resume from a checkpoint that does not know these results would lose them, or ask the client again.
    this.#shown.uncover();
    this.#queue.reopen();
    for (const message of messages) this.#send(message);
    return true;
  }

  cancel(): void {
    // A turn that has ended waits for its last checkpoint only.
    if (this.#phase === "finished" || this.#phase === "over") return;
    this.#end();
    this.#queue.fail(CANCELED);
  }

  async #start(): Promise<void> {
    try {
      this.#plan = await this.#parts.plan();
      this.#parts.context.observer?.phase("planned", performance.now());
      if (this.#plan.model.ignoresEffort) this.#queue.push(ignoredNotice("effort"));
      if (this.#plan.trimmedMessages > 0) this.#queue.push(trimmedNotice(this.#plan.trimmedMessages));
      this.#shown.begin(this.#plan.turn.messages);
      this.#prompt = preparePrompt(this.#plan.turn, this.#plan.owner, this.#parts.checkpoints);
      this.#attempts = new Attempts(this.#plan.model);
      this.#open();
    } catch (error) {
      this.#fail(ExcursorError.from(error));
    }
  }

  /** One attempt, from the state at hand. */
  #open(): void {
    const [plan, prompt, attempts] = [this.#plan, this.#prompt, this.#attempts];
    if (!plan || !prompt || !attempts || this.#phase === "over") return;
    const caller = { ...plan.caller, ghostMode: plan.endpoint.ghostMode, ...attempts.open() };
    const listener = {
      message: (payload: Uint8Array) => this.#receive(payload),
      done: (error: ExcursorError | undefined, end: RunEnd) => this.#onDone(error, end),
    };
    const { transports, farewells, turn } = this.#parts;
    this.#stream = new AgentStream(
      transports,
      plan.endpoint,
      caller,
      listener,
      () => this.#renewToken(),
      () => farewells.take(turn.principal.id),
    );
    const { conversationId, state, action } = prompt;
    const isResumed = this.#state !== undefined;
    this.#send(
      encodeRunRequest({
        state: this.#state ? toBinary(ConversationStateStructureSchema, this.#state) : state,
        action: isResumed ? { type: "resume" } : action,
        conversationId,
        runId: this.#runId,
        model: attempts.encoding,
        offer: this.#offer,
      }),
    );
    this.#parts.context.observer?.phase("opened", performance.now());
  }

  #receive(payload: Uint8Array): void {
    this.#hasBegun = true;
    this.#watch.stop();
    const delta = decodeDelta(payload);
    if (delta) {
      if (this.#phase !== "over")
        this.#show(delta.kind === "text" ? { type: "text", text: delta.text } : { type: "thinking", text: delta.text });
      return;
    }
    const whole = decodeMessage(AgentServerMessageSchema, payload);
    const { message } = whole;
    // Before it ends a cancelled turn, the backend stores its last blobs here.
    if (this.#phase === "over") {
      if (message.case === "kvServerMessage") this.#onKv(message.value);
      return;
    }
    switch (message.case) {
      case "interactionUpdate":
        this.#onUpdate(message.value);
        break;
      case "execServerMessage":
        this.#onExec(message.value);
        break;
      case "kvServerMessage":
        this.#onKv(message.value);
        break;
      case "conversationCheckpointUpdate":
        this.#state = message.value;
        if (this.#calls.isSettled) this.#shown.cover();
        this.#isKept = false;
        if (this.#phase === "finished") this.#keep();
        else this.#calls.complete();
        break;
      case "interactionQuery":
        if (message.value.query.case === undefined) this.#parts.unknown.add("interaction query", message.value);
        this.#send({ case: "interactionResponse", value: replyToQuery(message.value) });
        break;
      case "execServerControlMessage":
        break;
      case undefined:
        this.#parts.unknown.add("server message", whole);
        break;
      default:
        message satisfies never;
    }
  }

  #onUpdate(update: InteractionUpdate): void {
    const { message } = update;
    switch (message.case) {
      case "textDelta":
        if (message.value.isServerNotice)
          this.#queue.push({ type: "notice", code: "server_notice", text: message.value.text });
        else this.#show({ type: "text", text: message.value.text });
        break;
      case "thinkingDelta":
        this.#show({ type: "thinking", text: message.value.text });
        break;
      case "thinkingCompleted":
        this.#queue.push({ type: "thinking-done", durationMs: message.value.thinkingDurationMs });
        break;
      case "tokenDelta":
        this.#countedTokens += message.value.tokens;
        this.#tellCount();
        break;
      case "routedModel":
        this.#queue.push({ type: "notice", code: "routed_model", text: message.value.displayName });
        break;
      case "partialToolCall":
        this.#onPartialCall(message.value);
        break;
      case "toolCallCompleted":
        this.#calls.settle(message.value.callId);
        break;
      case "toolRequestsListed":
        this.#calls.announce(message.value.callCount);
        break;
      case "turnEnded": {
        const usage = usageOf(message.value, this.#state, this.#countedTokens);
        if (usage) this.#queue.push({ type: "usage", usage });
        this.#finish();
        break;
      }
      case undefined:
        this.#parts.unknown.add("update", update);
        break;
      default:
        // Progress of all kinds, which no client asks for.
        break;
    }
  }

  /** Whoever holds the answer to a number of tokens wants to know how many there are. */
  #tellCount(): void {
    const { turn } = this.#parts;
    if (turn.maxOutputTokens === undefined) return;
    this.#readTokens ??= estimateInputTokens(turn);
    const usage = runningUsage(this.#readTokens, this.#countedTokens - this.#countedBefore);
    this.#queue.push({ type: "usage", usage });
  }

  #show(event: Extract<TurnEvent, { type: "text" | "thinking" }>): void {
    this.#markShown();
    if (event.type === "text") this.#shown.text(event.text);
    this.#queue.push(event);
  }

  /** Only of the client's tools: what the model does with its own is not for the client to see. */
  #onPartialCall({ toolCall, argsTextDelta }: PartialToolCallUpdate): void {
    const args = toolCall?.tool.case === "mcpToolCall" ? toolCall.tool.value.args : undefined;
    const name = args && this.#offer.nameOf(args);
    if (!args || name === undefined) return;
    this.#markShown();
    const { toolCallId: id } = args;
    if (!this.#streamed.has(id)) this.#queue.push({ type: "tool-call-start", id, name });
    const json = this.#streamed.step(id, argsTextDelta);
    if (json !== "") this.#queue.push({ type: "tool-call-delta", id, json });
  }

  #markShown(): void {
    this.#calls.settle();
    this.#shown.mark();
  }

  #onExec(exec: ExecServerMessage): void {
    if (exec.message.case === undefined) this.#parts.unknown.add("exec request", exec);
    const outcome = replyToExec(exec, this.#offer);
    if (outcome.type === "reply") {
      for (const message of outcome.messages) this.#send(message);
      return;
    }
    const { id, name, args } = outcome.call;
    this.#markShown();
    this.#shown.call({ type: "tool-call", id, name, args });
    this.#queue.push({ type: "tool-call", id, name, args });
    this.#calls.add(outcome.call);
  }

  #onKv(kv: KvServerMessage): void {
    const reply = this.#prompt && replyToKv(kv, this.#prompt.blobs);
    if (reply) this.#send(reply);
    else this.#parts.unknown.add("kv request", kv);
  }

  /** The batch is complete: the client has the word, and the stream is kept alive meanwhile. */
  #waitForResults(): void {
    if (this.#phase !== "running") return;
    this.#phase = "waiting";
    this.#timer = setInterval(() => {
      for (const beat of this.#calls.heartbeats()) this.#send(beat);
    }, EXEC_HEARTBEAT_MS);
    this.#queue.push({ type: "done", reason: "tool-calls" });
    this.#queue.close();
  }

  /** The turn is over for the client, whatever the transport does next; its last checkpoint may still be coming. */
  #finish(): void {
    if (this.#phase !== "running") return;
    this.#phase = "finished";
    if (this.#plan && this.#attempts?.isOtherEncoding) {
      this.#parts.onEncoding(this.#plan.model.baseId, this.#attempts.encoding.kind);
    }
    this.#queue.push({ type: "done", reason: "stop" });
    this.#queue.close();
    // Most backends have ended the stream by then, and need no timer.
    setImmediate(() => {
      if (this.#phase === "finished") this.#timer = setTimeout(() => this.#hangUp(), LAST_CHECKPOINT_MS);
    });
  }

  /** Stores the checkpoint under the history that the client will send back. */
  #keep(): void {
    const { checkpoints } = this.#parts;
    const [plan, state, prompt] = [this.#plan, this.#state, this.#prompt];
    if (!plan || !state || !prompt || this.#isKept) return;
    this.#isKept = true;
    const { blobs, conversationId } = prompt;
    checkpoints.put(plan.owner, this.#shown.historyKey(), {
      conversationId,
      state: toBinary(ConversationStateStructureSchema, state),
      blobs: blobs.pick(reachableIds(state, blobs)),
    });
  }

  /** The turn has ended, and its stream has not: some backends leave that to the client. */
  #hangUp(): void {
    this.#keep();
    this.#settle();
    this.#stream?.hangUp();
  }

  #onDone(error: ExcursorError | undefined, end: RunEnd): void {
    if (this.#phase === "over") return;
    if (this.#phase === "finished") {
      this.#keep();
      this.#settle();
      return;
    }
    // An end without `turn_ended` is a stream that was dropped politely.
    this.#recover(
      error ??
        new ExcursorError("upstream-unavailable", "The backend ended its answer in the middle.", {
          code: "turn_not_ended",
        }),
      end,
    );
  }

  #recover(error: ExcursorError, { reached }: RunEnd): void {
    const next =
      this.#phase === "running"
        ? this.#attempts?.next({
            error,
            wasReached: reached,
            hasShown: this.#shown.hasAny,
            hasShownSinceCheckpoint: this.#shown.hasUncovered,
            hasCheckpoint: this.#state !== undefined,
            isContinued: this.#prompt?.isContinued ?? false,
          })
        : undefined;
    if (!next || (next.type === "again" && !this.#parts.retries.spend())) {
      this.#fail(error);
      return;
    }
    if (next.type === "renew") {
      void this.#renew(error);
      return;
    }
    if (next.type === "rebuild" && this.#plan) this.#prompt = rebuildPrompt(this.#plan.turn);
    this.#timer = setTimeout(() => this.#open(), next.pauseMs);
  }

  /** A run that has begun goes on with a new token where its transport sends one with every message. */
  async #renewToken(): Promise<string | undefined> {
    if (!this.#hasBegun || !this.#plan) return undefined;
    const plan = await this.#parts.renew(this.#plan);
    this.#plan = plan ?? this.#plan;
    return plan?.caller.token;
  }

  async #renew(refusal: ExcursorError): Promise<void> {
    try {
      const plan = this.#plan && (await this.#parts.renew(this.#plan));
      if (!plan) throw refusal;
      this.#plan = plan;
      this.#open();
    } catch (error) {
      this.#fail(ExcursorError.from(error));
    }
  }

  /** Once the backend has begun, clients must not ask again by themselves, except when they were told when to. */
  #fail(error: ExcursorError): void {
    const wasWaiting = this.#phase === "waiting";
    this.#end();
    if (wasWaiting) this.#parts.context.onLost?.();
    const isFinal = this.#hasBegun && error.retryAfterMs === undefined;
    this.#queue.fail(isFinal && error.retryable ? error.with({ retryable: false }) : error);
  }

  #end(): void {
    this.#settle();
    this.#stream?.cancel();
  }

  #settle(): void {
    this.#phase = "over";
    clearTimeout(this.#timer);
    this.#watch.stop();
    this.#calls.clear();
  }

  #send(message: Outgoing): void {
    this.#stream?.send(message);
  }
}
