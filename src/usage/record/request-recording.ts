import { type Awaitable, after } from "../../core/awaitable.ts";
import type { LossReason } from "../../core/engine/call-log.ts";
import type { Usage } from "../../core/events.ts";
import { historyKeys } from "../../core/history/history-key.ts";
import { addUsage } from "../../core/rules/usage-estimate.ts";
import type { RunMeter, RunWatch, UsageOrigin } from "../../core/run-meter.ts";
import type { RunObserver, RunPhase } from "../../core/run-observer.ts";
import type { Message, Turn } from "../../core/turn.ts";
import type { Reservation } from "../limits/usage-limits.ts";
import { spendingOf } from "../store/spending.ts";
import { conversationId } from "./conversation.ts";
import type { PhaseName, RequestRecord, RunOrigin, TurnContent } from "./records.ts";
import { type RunParts, RunRecording, type RunRequest } from "./run-recording.ts";
import { leastCertain } from "./usage-origin.ts";

/** What is known of a request when it is over, beside what its recording has seen. */
export type RequestEnd = Pick<RequestRecord, "principalId" | "keyName" | "status" | "errorCode"> & {
  readonly face: string;
  readonly route: string;
  readonly client: string;
};

/** A request under way. */
export interface LiveRequest {
  readonly model: string | undefined;
  readonly driver: string | undefined;
  readonly phase: PhaseName;
  readonly run: RunOrigin["type"];
  readonly firstTokenMs: number | undefined;
  readonly elapsedMs: number;
  /** What the model has written so far, by estimate; undefined if nothing was counted yet. */
  readonly outputTokens: number | undefined;
}

/** Reserves what a turn will use, or throws if a limit is reached. */
type ReserveTurn = (turn: Turn, model: string, driver: string) => Awaitable<Reservation | undefined>;

/** What all recordings of a recorder share. */
export interface RecordingParts extends RunParts {
  readonly reserve: ReserveTurn | undefined;
  /** True if a sink wants answers. */
  readonly keepsAnswer: boolean;
  /** Returns the name of a driver for people, by the name that the engine routes to. */
  readonly driverName: (route: string) => string;
}

/** Gathers what happens in one request. The engine tells it of phases and tokens, never of single events. */
export class RequestRecording implements RunObserver, RunMeter, RunRequest {
  readonly #id: string;
  readonly #startedAt: number;
  /** By `performance.now()`, like all times below. */
  readonly #start: number;
  #routedAt: number | undefined;
  #askedAt: number | undefined;
  #reached: Partial<Record<RunPhase, number>> = {};
  #turn: Turn | undefined;
  #answer: TurnContent["answer"];
  #turnKeys: readonly string[] | undefined;
  #keys: readonly string[] | undefined;
  #served: { readonly model: string; readonly driver: string } | undefined;
  #run: RunOrigin = { type: "fresh" };
  #usage: Usage | undefined;
  #origin: UsageOrigin | undefined;
  /** How many parts of runs were counted. */
  #counted = 0;
  readonly #runs = new Set<RunRecording>();
  readonly #parts: RecordingParts;
  #record: RequestRecord | undefined;
  #onCorrected: ((record: RequestRecord) => RequestRecord) | undefined;
  #modelMs = 0;
  #toolMs = 0;
  #parkMs: number | undefined;
  /** Only counted while a limit holds or somebody watches. */
  #outputTokens: number | undefined;
  /** Set for the first turn of a conversation, whose answer is part of the conversation's id, and if a sink wants answers. */
  answered: RunObserver["answered"];

  /** Set while a limit holds for the request. */
  grow: ((inputTokens: number, outputTokens: number) => void) | undefined;
  #reservation: Reservation | undefined;

  constructor(id: string, startMs: number, wallClock: number, parts: RecordingParts) {
    this.#id = id;
    this.#parts = parts;
    this.#start = startMs;
    this.#startedAt = Math.round(wallClock - (performance.now() - startMs));
  }

  get id(): string {
    return this.#id;
  }

  /** The turn as the client asked for it; undefined before the request is parsed. */
  get turn(): Turn | undefined {
    return this.#turn;
  }

  /** What was said; undefined before the request is parsed. */
  get content(): TurnContent | undefined {
    return this.#turn && { turn: this.#turn, answer: this.#answer };
  }

  /**
   * The history keys of the turn, with its answer if it is the first one of its conversation. Only a request that has used
   * something needs those of a long history: undefined for others, and before the request is parsed.
   */
  get historyKeys(): readonly string[] | undefined {
    if (!this.#turn || !this.#usage) return undefined;
    if (this.#keys) return this.#keys;
    const { messages } = this.#turn;
    const isFirst = this.#answer && !messages.some(isAnswer);
    this.#keys = isFirst && this.#answer ? historyKeys([...messages, this.#answer.message]) : this.keysOf(messages);
    return this.#keys;
  }

  keysOf(messages: readonly Message[]): readonly string[] {
    if (messages !== this.#turn?.messages) return historyKeys(messages);
    this.#turnKeys ??= historyKeys(messages);
    return this.#turnKeys;
  }

  /** The gate has let the request pass. */
  routed(): void {
    this.#routedAt = performance.now();
  }

  /** The request is parsed, and is given to the engine next. */
  asks(turn: Turn): void {
    this.#askedAt = performance.now();
    this.#turn = turn;
    if (!this.#parts.keepsAnswer && turn.messages.some(isAnswer)) return;
    this.answered = (message, reason) => {
      this.#answer = { message, reason };
    };
  }

  /** Throws if a limit is reached. */
  served(model: string, driver: string): Awaitable<void> {
    const isFirst = this.#served === undefined;
    this.#served = { model, driver };
    const reservation = isFirst && this.#turn ? this.#parts.reserve?.(this.#turn, model, driver) : undefined;
    return after(reservation, (held) => this.#hold(held));
  }

  #hold(reservation: Reservation | undefined): void {
    if (!reservation) return;
    if (this.#record) {
      // The request has ended while the limits were asked.
      reservation.release(spendingOf(this.#record), this.#record.conversation);
      return;
    }
    this.grow = (input, output) => {
      this.#outputTokens = output;
      const { inputTokens = 0, outputTokens = 0 } = this.#usage ?? {};
      reservation.grow(inputTokens + input, outputTokens + output);
    };
    this.#reservation = reservation;
  }

  /** Returns what is known of the request so far. From then on its output is counted with each batch. */
  live(): LiveRequest {
    this.grow ??= (_, output) => {
      this.#outputTokens = output;
    };
    const firstEvent = this.#reached["first-event"];
    return {
      model: this.#served?.model ?? this.#turn?.model.id,
      driver: this.#served?.driver,
      phase: this.#livePhase(),
      run: this.#run.type,
      firstTokenMs: firstEvent === undefined ? undefined : round(firstEvent - this.#start),
      elapsedMs: round(performance.now() - this.#start),
      outputTokens: this.#outputTokens,
    };
  }

  #livePhase(): PhaseName {
    const { planned, opened, "first-event": firstEvent } = this.#reached;
    if (firstEvent !== undefined) return "model";
    if (opened !== undefined) return "first-frame";
    if (planned !== undefined) return "checkpoint";
    if (this.#askedAt !== undefined) return "credential";
    return this.#routedAt === undefined ? "gate" : "parse";
  }

  /** The record, once the request is over. */
  get record(): RequestRecord | undefined {
    return this.#record;
  }

  /** The record is stored. `onCorrected` stores another one in its place, and returns it. */
  stored(record: RequestRecord, onCorrected: (record: RequestRecord) => RequestRecord): void {
    this.#reservation?.release(spendingOf(record), record.conversation);
    this.#record = record;
    this.#onCorrected = onCorrected;
    for (const run of this.#runs) run.settle();
  }

  opens(): RunWatch {
    const lost = this.#run.type === "replayed" ? this.#run.reason : undefined;
    const startedAt = Math.round(this.#startedAt + performance.now() - this.#start);
    const run = new RunRecording(this, lost, startedAt, this.#parts);
    this.#runs.add(run);
    return run;
  }

  goesOn(watch: RunWatch): void {
    if (!(watch instanceof RunRecording)) return;
    watch.goesOn(this);
    this.#runs.add(watch);
  }

  corrected(difference: Usage): void {
    const isExact = this.#counted <= 1;
    const sum = this.#usage ? addUsage(this.#usage, difference) : difference;
    this.#usage = { ...sum, isEstimate: !isExact };
    if (isExact) this.#origin = "upstream";
    if (!this.#record || !this.#onCorrected) return;
    const before = spendingOf(this.#record);
    this.#record = this.#onCorrected({
      ...this.#record,
      usage: this.#usage,
      usageOrigin: this.#origin,
      run: this.#record.run ?? this.#run,
    });
    const { tokens, dollars } = spendingOf(this.#record);
    this.#reservation?.correct({ tokens: tokens - before.tokens, dollars: dollars - before.dollars });
  }

  phase(name: RunPhase, atMs: number, reason?: LossReason): void {
    if (name === "resumed") this.#run = { type: "resumed" };
    if (name === "replayed") this.#run = { type: "replayed", reason: reason ?? "unknown" };
    const firstEvent = this.#reached["first-event"];
    if (name === "ended" && firstEvent !== undefined) this.#modelMs = atMs - firstEvent;
    this.#reached[name] ??= atMs;
  }

  used(usage: Usage, origin: UsageOrigin): void {
    this.#counted++;
    this.#usage = this.#usage ? addUsage(this.#usage, usage) : usage;
    this.#origin = leastCertain(this.#origin, origin);
  }

  /** A hub call of this request has taken so long. */
  ranTool(ms: number): void {
    this.#toolMs += ms;
  }

  /** The run had waited so long for the results that this request brought. */
  waited(ms: number): void {
    this.#parkMs = Math.max(this.#parkMs ?? 0, ms);
  }

  /** Returns the record. */
  finish(end: RequestEnd): RequestRecord {
    const now = performance.now();
    const firstEvent = this.#reached["first-event"];
    const turn = this.#turn;
    const keys = this.historyKeys;
    const { principalId, keyName, client, face, route, status, errorCode } = end;
    return {
      id: this.#id,
      startedAt: this.#startedAt,
      principalId,
      keyName,
      client,
      face,
      route,
      modelAsked: turn?.model.id,
      modelServed: this.#served?.model,
      driver: this.#served && this.#parts.driverName(this.#served.driver),
      conversation: turn && conversationId(turn, keys),
      status,
      errorCode,
      firstTokenMs: firstEvent === undefined ? undefined : round(firstEvent - this.#start),
      durationMs: round(now - this.#start),
      phases: this.#phases(),
      usage: this.#usage,
      usageOrigin: this.#origin,
      run: this.#usage && this.#run,
      cost: undefined,
      cache: undefined,
    };
  }

  #phases(): Partial<Record<PhaseName, number>> {
    const { planned, opened, "first-event": firstEvent } = this.#reached;
    const phases: Partial<Record<PhaseName, number>> = {};
    const between = (name: PhaseName, from: number | undefined, to: number | undefined) => {
      if (from !== undefined && to !== undefined && to >= from) phases[name] = round(to - from);
    };
    between("gate", this.#start, this.#routedAt);
    between("parse", this.#routedAt, this.#askedAt);
    between("credential", this.#askedAt, planned);
    between("checkpoint", planned, opened);
    between("open", planned === undefined ? this.#askedAt : undefined, opened);
    between("first-frame", opened ?? this.#askedAt, firstEvent);
    if (firstEvent !== undefined) phases.model = round(Math.max(0, this.#modelMs - this.#toolMs));
    if (this.#toolMs > 0) phases.tools = round(this.#toolMs);
    if (this.#parkMs !== undefined) phases.park = round(this.#parkMs);
    return phases;
  }
}

const isAnswer = ({ role }: Message): boolean => role === "assistant";

const round = (ms: number): number => Math.round(ms * 10) / 10;
