import { randomUUID } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import type { Run } from "../../../core/driver.ts";
import { RunChannel } from "../../../core/engine/run/run-channel.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import { ignoredNotice } from "../../../core/notices/ignored.ts";
import { trimmedNotice } from "../../../core/notices/trimmed.ts";
import type { Message, ToolMessage } from "../../../core/turn.ts";
import {
  type ConversationStateStructure,
  ConversationStateStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { type AgentServerMessage, AgentServerMessageSchema } from "../../../gen/agent/v1/run_pb.ts";
import { decodeDelta } from "../../../wire/agent/delta.ts";
import { EXEC_HEARTBEAT_MS } from "../../../wire/agent/heartbeat.ts";
import { reachableIds } from "../../../wire/agent/state/reachable.ts";
import { decodeMessage } from "../../../wire/connect/decode-message.ts";
import type { RunEnd } from "../../../wire/connect/run-stream.ts";
import { overflowOr } from "../request/context-window.ts";
import { Offer } from "../request/offer.ts";
import { type Prompt, preparePrompt, rebuildPrompt } from "../request/prompt.ts";
import { encodeRunRequest } from "../request/run-request.ts";
import { AnswerReader, type Effect } from "./answer-reader.ts";
import { Attempts } from "./attempts.ts";
import { PendingCalls } from "./pending-calls.ts";
import { ResumeWatch } from "./resume-watch.ts";
import { isDrop } from "./retry.ts";
import type { CursorRunParts, RunPlan } from "./run-plan.ts";
import { AgentStream, type Outgoing } from "./stream.ts";

/** How long to wait for the end of the stream after a turn has ended and its last checkpoint has come. */
const STREAM_END_MS = 2000;
/** How long the backend may be silent before it sends the last checkpoint. It sends a heartbeat every five seconds. */
const CHECKPOINT_SILENCE_MS = 6000;
/** How long to wait for the last checkpoint in all. */
const LAST_CHECKPOINT_MS = 30_000;

/** What the attempts of a run start from. */
interface Beginning {
  plan: RunPlan;
  prompt: Prompt;
  readonly attempts: Attempts;
}

/**
 * One answer of the agent protocol, over as many attempts as needed. {@link AnswerReader} interprets messages; this
 * class owns the stream, the timers and the phase.
 */
export class CursorRun implements Run {
  readonly #parts: CursorRunParts;
  readonly #channel: RunChannel;
  readonly #offer: Offer;
  readonly #reader: AnswerReader;
  readonly #calls = new PendingCalls(() => this.#waitForResults());
  readonly #watch = new ResumeWatch();
  readonly #runId = randomUUID();
  #beginning: Beginning | undefined;
  #stream: AgentStream | undefined;
  /** Counts the attempts, since a stream that was given up may still send. */
  #attempt = 0;
  /** True once the backend has sent something, shown or not. */
  #hasBegun = false;
  /** The key under which the answer's checkpoint is stored. */
  #keptAs: string | undefined;
  /** Set from the end of the turn until the client gets the end of its answer. */
  #ending: NodeJS.Immediate | undefined;
  /** When the client got the end of its answer. */
  #finishedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: CursorRunParts) {
    const { turn, context } = parts;
    this.#parts = parts;
    this.#offer = new Offer(turn.system, turn.toolChoice.type === "none" ? [] : turn.tools);
    this.#reader = new AnswerReader(turn, this.#offer);
    this.#channel = new RunChannel({
      onPressure: (isFull) => (isFull ? this.#stream?.pause() : this.#stream?.resume()),
      onOver: (isBroken) => {
        clearTimeout(this.#timer);
        clearImmediate(this.#ending);
        this.#watch.stop();
        this.#calls.clear();
        if (isBroken) this.#stream?.cancel();
      },
      onLost: context.onLost,
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    return this.#channel[Symbol.asyncIterator]();
  }

  /** Sends the request once there is a plan. Never rejects: an error fails the run. */
  async start(planned: Promise<RunPlan>): Promise<void> {
    try {
      const plan = await planned;
      this.#parts.context.observer?.phase("planned", performance.now());
      if (plan.model.ignoresEffort) this.#channel.push(ignoredNotice("effort"));
      if (plan.trimmedMessages > 0) this.#channel.push(trimmedNotice(plan.trimmedMessages));
      this.#reader.begin(plan.turn.messages);
      const prompt = await preparePrompt(plan, plan.owner, this.#parts.checkpoints);
      this.#reader.beginFrom(prompt.owed);
      this.#open({ plan, prompt, attempts: new Attempts(plan.model) });
    } catch (error) {
      this.#fail(ExcursorError.from(error));
    }
  }

  submitResults(results: readonly ToolMessage[], history: readonly Message[]): boolean {
    if (this.#channel.phase !== "waiting") return false;
    const messages = this.#calls.replies(results);
    if (this.#calls.size > 0 || !this.#channel.resume()) return false;
    clearInterval(this.#timer);
    this.#watch.start((error) => this.#fail(error));
    this.#reader.begin(history);
    // An earlier checkpoint does not contain these results: resuming from it would lose them or ask again.
    this.#reader.shown.uncover();
    for (const message of messages) this.#send(message);
    return true;
  }

  cancel(): void {
    if (this.#channel.phase === "waiting") this.#keepSuspended();
    this.#channel.cancel();
  }

  /** Makes one attempt, from the last checkpoint if there is one. */
  #open(beginning: Beginning): void {
    this.#beginning = beginning;
    if (this.#channel.phase === "over") return;
    const { plan, prompt, attempts } = beginning;
    const { transports, endingStreams, turn } = this.#parts;
    const attempt = ++this.#attempt;
    this.#stream = new AgentStream(
      transports,
      plan.endpoint,
      { ...plan.caller, ghostMode: plan.endpoint.ghostMode, ...attempts.open() },
      {
        message: (payload) => {
          if (attempt === this.#attempt) this.#receive(payload);
        },
        done: (error, end) => {
          if (attempt === this.#attempt) this.#onDone(error, end);
        },
      },
      () => this.#renewToken(beginning),
      () => endingStreams.take(turn.principal.id),
    );
    const { checkpoint } = this.#reader;
    this.#send(
      encodeRunRequest({
        state: checkpoint ? toBinary(ConversationStateStructureSchema, checkpoint) : prompt.state,
        action: checkpoint ? { type: "resume" } : prompt.action,
        conversationId: prompt.conversationId,
        runId: this.#runId,
        model: attempts.encoding,
        offer: this.#offer,
      }),
    );
    const { observer, onSent } = this.#parts.context;
    const start = prompt.isContinued ? "checkpoint" : turn.messages.length > 1 ? "transcript" : "fresh";
    const account = turn.principal.token ? undefined : plan.credential.id;
    onSent?.({ conversation: prompt.conversationId, account, start });
    observer?.phase("opened", performance.now());
  }

  #receive(payload: Uint8Array): void {
    this.#hasBegun = true;
    this.#watch.stop();
    const isOver = this.#channel.phase === "over";
    const delta = decodeDelta(payload);
    if (delta) {
      if (isOver) return;
      if (this.#reader.isOwed) this.#replay();
      else this.#show(this.#reader.showDelta(delta));
      return;
    }
    const message = decodeMessage(AgentServerMessageSchema, payload);
    // The backend stores its last blobs before it ends a cancelled turn, and then reports its usage.
    if (!this.#beginning || (isOver && !mattersLate(message))) return;
    const effects = this.#reader.step(message, this.#beginning.prompt.blobs);
    if (isOver) this.#takeLate(effects);
    else if (this.#reader.isOwed && effects.some(isProgress)) this.#replay();
    else for (const effect of effects) this.#apply(effect);
    if (this.#channel.phase === "finished") this.#awaitEnd();
  }

  /** Handles what the backend sends on a stream whose answer is over. */
  #takeLate(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "send") this.#send(effect.message);
      else if (effect.type === "tell" && effect.event.type === "usage" && !effect.event.usage.isEstimate) {
        this.#parts.context.onLateUsage?.(effect.event.usage);
      }
    }
  }

  #apply(effect: Effect): void {
    switch (effect.type) {
      case "show":
        this.#show(effect.event);
        break;
      case "tell":
        this.#channel.push(effect.event);
        break;
      case "send":
        this.#send(effect.message);
        break;
      case "call": {
        const { id, name, args, isNative } = effect.call;
        this.#show({ type: "tool-call", id, name, args, ...(isNative && { isNative }) });
        if (!this.#calls.add(effect.call)) this.#fail(new ExcursorError("exec_id_repeated"));
        break;
      }
      case "calls-announced":
        this.#calls.announce(effect.count);
        break;
      case "call-completed":
        this.#calls.settle(effect.callId);
        break;
      case "checkpoint":
        if (effect.isSettled && this.#calls.isSettled) this.#reader.shown.cover();
        if (this.#channel.phase === "finished") this.#keep();
        else this.#calls.complete();
        break;
      case "turn-ended":
        // An error that the same packet brings is still told.
        this.#ending ??= setImmediate(() => this.#finish());
        break;
      case "unknown":
        this.#parts.unknown.add(effect.kind, effect.message);
        break;
      default:
        effect satisfies never;
    }
  }

  #show(event: TurnEvent): void {
    this.#calls.settle();
    this.#channel.push(event);
  }

  /** Parks the run: the client has to send results. Heartbeats keep the stream alive meanwhile. */
  #waitForResults(): void {
    if (this.#channel.phase !== "running") return;
    this.#timer = setInterval(() => {
      for (const beat of this.#calls.heartbeats()) this.#send(beat);
    }, EXEC_HEARTBEAT_MS);
    this.#channel.push({ type: "done", reason: "tool-calls" });
  }

  /** Ends the answer for the client. The last checkpoint may still arrive. */
  #finish(): void {
    clearImmediate(this.#ending);
    this.#ending = undefined;
    if (this.#channel.phase !== "running") return;
    const { plan, attempts } = this.#beginning ?? {};
    if (plan && attempts?.isOtherEncoding) this.#parts.onEncoding(plan.model.baseId, attempts.encoding.kind);
    this.#channel.push({ type: "done", reason: "stop" });
    this.#finishedAt = performance.now();
    this.#keep();
    this.#awaitEnd();
  }

  /** Waits for the last checkpoint as long as the backend sends anything, and then for the end of the stream. */
  #awaitEnd(): void {
    clearTimeout(this.#timer);
    const isCovered = !this.#reader.shown.hasUncovered;
    const leftMs = this.#finishedAt + LAST_CHECKPOINT_MS - performance.now();
    const waitMs = isCovered ? STREAM_END_MS : Math.min(CHECKPOINT_SILENCE_MS, leftMs);
    this.#timer = setTimeout(() => this.#hangUp(), waitMs);
  }

  /** Stores a checkpoint that contains the whole answer, under the history that the client will send back. */
  #keep(): void {
    const { checkpoint, shown } = this.#reader;
    if (!checkpoint || shown.hasUncovered) return;
    this.#keptAs ??= shown.historyKey();
    this.#put(this.#keptAs, checkpoint);
  }

  /** Stores the state of a run that waits for results and is given up, so that its follow-up resumes from it. */
  #keepSuspended(): void {
    const { suspended, shown } = this.#reader;
    if (suspended) this.#put(shown.suspendedKey(), suspended);
  }

  #put(key: string, checkpoint: ConversationStateStructure): void {
    if (!this.#beginning) return;
    const { plan, prompt } = this.#beginning;
    this.#parts.checkpoints.put(plan.owner, key, {
      conversationId: prompt.conversationId,
      state: toBinary(ConversationStateStructureSchema, checkpoint),
      blobs: prompt.blobs.pick(reachableIds(checkpoint, prompt.blobs)),
    });
  }

  /** Closes a stream that the backend has not closed after its turn. Some backends leave that to the client. */
  #hangUp(): void {
    this.#channel.end();
    this.#stream?.hangUp();
  }

  #onDone(error: ExcursorError | undefined, end: RunEnd): void {
    // A finished turn is finished, whatever happens to its stream. What the backend itself reports counts.
    const refusal = error && !isDrop(error) ? error : undefined;
    if (this.#ending && refusal) this.#fail(refusal);
    else if (this.#ending) this.#finish();
    if (this.#channel.phase === "finished") {
      if (refusal) this.#dropKept(refusal);
      this.#channel.end();
    } else if (this.#channel.phase !== "over") this.#recover(error ?? turnNotEnded(), end);
  }

  /** Handles an error that comes after the client has its whole answer: the backend may not have its end. */
  #dropKept(error: ExcursorError): void {
    const { checkpoints, context, onLateError } = this.#parts;
    if (this.#beginning && this.#keptAs) checkpoints.forget(this.#beginning.plan.owner, this.#keptAs);
    onLateError(context.requestId, error);
    context.onLateError?.();
  }

  /** Makes another attempt if that is allowed, and fails otherwise. */
  #recover(error: ExcursorError, { reached }: RunEnd): void {
    const beginning = this.#beginning;
    const { shown, checkpoint, hasOutput } = this.#reader;
    const next =
      this.#channel.phase === "running"
        ? beginning?.attempts.next({
            error,
            wasReached: reached,
            hasShown: hasOutput,
            hasShownSinceCheckpoint: shown.hasUncovered,
            hasCheckpoint: checkpoint !== undefined,
            isContinued: beginning.prompt.isContinued,
            isOwed: this.#reader.isOwed,
          })
        : undefined;
    if (!beginning || !next || (next.type === "again" && !this.#parts.retries.spend())) {
      this.#fail(beginning && !hasOutput ? overflowOr(error, beginning.plan) : error);
      return;
    }
    if (next.type === "renew") {
      void this.#renew(beginning, error);
      return;
    }
    if (next.type === "rebuild") this.#useTranscript(beginning);
    this.#timer = setTimeout(() => this.#open(beginning), next.pauseMs);
  }

  /** Replays the transcript, since the backend goes on from a suspended turn without its results. */
  #replay(): void {
    if (!this.#beginning) return;
    const stream = this.#stream;
    this.#useTranscript(this.#beginning);
    this.#open(this.#beginning);
    stream?.cancel();
  }

  #useTranscript(beginning: Beginning): void {
    beginning.prompt = rebuildPrompt(beginning.plan);
    this.#reader.beginFrom([]);
  }

  /** Renews the token within a run. Over HTTP/1.1 each message carries the token. */
  async #renewToken(beginning: Beginning): Promise<string | undefined> {
    if (!this.#hasBegun) return undefined;
    const plan = await this.#parts.renew(beginning.plan);
    beginning.plan = plan ?? beginning.plan;
    return plan?.caller.token;
  }

  async #renew(beginning: Beginning, refusal: ExcursorError): Promise<void> {
    try {
      const plan = await this.#parts.renew(beginning.plan);
      if (!plan) throw refusal;
      beginning.plan = plan;
      this.#open(beginning);
    } catch (error) {
      this.#fail(ExcursorError.from(error));
    }
  }

  /** Once the backend has begun, clients must not retry by themselves, unless they were told when. */
  #fail(error: ExcursorError): void {
    if (this.#channel.phase === "waiting") this.#keepSuspended();
    const isFinal = this.#hasBegun && error.retryAfterMs === undefined;
    this.#channel.fail(isFinal && error.retryable ? error.with({ retryable: false }) : error);
  }

  #send(message: Outgoing): void {
    this.#stream?.send(message);
  }
}

/** True if the model goes on. */
const isProgress = ({ type }: Effect): boolean => type === "show" || type === "call" || type === "turn-ended";

/** True for what matters after the answer: blobs, and the end of the turn. */
const mattersLate = ({ message }: AgentServerMessage): boolean =>
  message.case === "kvServerMessage" ||
  (message.case === "interactionUpdate" && message.value.message.case === "turnEnded");

/** The error for a stream that ended properly, but before the turn did. */
const turnNotEnded = (): ExcursorError => new ExcursorError("turn_not_ended");
