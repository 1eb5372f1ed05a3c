import { BoundedMap } from "../bounded-map.ts";
import { historyKeys } from "../history/history-key.ts";
import {
  type AssistantMessage,
  type Message,
  type Principal,
  resultBytes,
  type ToolMessage,
  type Turn,
} from "../turn.ts";
import type { CallEntry, CallLog, LossReason } from "./call-log.ts";
import { runIdOf } from "./run/call-names.ts";
import type { LiveRun } from "./run/live-run.ts";
import { type RunTerms, termsOf, whyNot, withAddedInstructions } from "./run-terms.ts";
import { turnBytes } from "./turn-bytes.ts";

export interface ParkingLimits {
  readonly ttlMs: number;
  /** How long a run stays after its follow-up was refused by a limit that is to pause it. */
  readonly pausedMs: number;
  readonly runsPerPrincipal: number;
  readonly runs: number;
  readonly bytesPerPrincipal: number;
  readonly bytes: number;
}

const MIB = 1024 * 1024;

const PARKING_LIMITS: ParkingLimits = {
  ttlMs: 15 * 60_000,
  pausedMs: 60 * 60_000,
  runsPerPrincipal: 64,
  runs: 1000,
  bytesPerPrincipal: 64 * MIB,
  bytes: 128 * MIB,
};

/** The estimated memory of a parked run beside its conversation: streams, timers, decoded messages. */
const RUN_BYTES = 32 * 1024;

interface ParkedRun {
  readonly live: LiveRun;
  readonly principalId: string;
  readonly requestId: string;
  /** The key of the conversation up to the calls. A follow-up must have exactly this history. */
  readonly historyKey: string;
  readonly model: string;
  readonly terms: RunTerms;
  /** By call id. */
  readonly calls: ReadonlyMap<string, Called>;
  readonly bytes: number;
  readonly since: number;
  timer: NodeJS.Timeout;
  isPaused: boolean;
}

/** What an operator may know of a parked run. */
export interface ParkedRunInfo {
  readonly id: string;
  readonly principalId: string;
  /** The request that was given the calls. */
  readonly requestId: string;
  readonly model: string;
  /** The names of the tools whose results are missing. */
  readonly tools: readonly string[];
  /** Its estimated memory. */
  readonly bytes: number;
  readonly waitedMs: number;
  /** True if a limit has refused its follow-up, and the run is kept until the limit is lifted. */
  readonly isPaused: boolean;
}

/** The request that parks or takes a run. */
export interface ParkingRequest {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** What a follow-up finds: its run, or why the run is gone. */
export type Found =
  | { readonly type: "run"; readonly live: LiveRun; readonly results: readonly ToolMessage[] }
  | { readonly type: "gone"; readonly reason: LossReason };

/**
 * Keeps runs that wait for the results of their tool calls, between two requests of the client. A run can be taken once.
 * A run that is not taken in time, or has to make room, is cancelled. The follow-up is then replayed from the client's
 * transcript, which costs time and tokens, but loses nothing.
 */
export class Parking {
  readonly #runs = new Map<string, ParkedRun>();
  /** Why the most recent runs are gone, for the call log only. */
  readonly #lossReasons = new BoundedMap<string, { readonly principalId: string; readonly reason: LossReason }>(
    MAX_LOSS_REASONS,
  );
  readonly #limits: ParkingLimits;
  readonly #callLog: CallLog;
  #isClosing = false;

  constructor(limits: ParkingLimits = PARKING_LIMITS, callLog: CallLog = () => {}) {
    this.#limits = limits;
    this.#callLog = callLog;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** The estimated memory of the parked runs. */
  get bytes(): number {
    return weigh([...this.#runs.values()]).bytes;
  }

  /** Lists the parked runs, oldest first. */
  list(): readonly ParkedRunInfo[] {
    return [...this.#runs.values()].map((parked) => ({
      id: parked.live.id,
      principalId: parked.principalId,
      requestId: parked.requestId,
      model: parked.model,
      tools: [...parked.calls.values()].map(({ tool }) => tool),
      bytes: parked.bytes,
      waitedMs: waitedMs(parked),
      isPaused: parked.isPaused === true,
    }));
  }

  /** Cancels a parked run. Returns false if there is none of this id, or it is not the given principal's. */
  drop(runId: string, principalId?: string): boolean {
    const parked = this.#runs.get(runId);
    if (!parked || (principalId !== undefined && parked.principalId !== principalId)) return false;
    this.#lose(runId, "dropped");
    return true;
  }

  park(live: LiveRun, turn: Turn, answer: AssistantMessage, { requestId, signal }: ParkingRequest): void {
    const { id: runId } = live;
    const parked: ParkedRun = {
      live,
      principalId: turn.principal.id,
      requestId,
      historyKey: historyKeys([...turn.messages, answer]).at(-1) ?? "",
      model: turn.model.id,
      terms: termsOf(turn),
      calls: toolsByCall([answer]),
      // The turn is held twice: as the client sent it, and as the driver has encoded it.
      bytes: RUN_BYTES + 2 * turnBytes(turn),
      since: performance.now(),
      timer: this.#expireIn(this.#limits.ttlMs, runId),
      isPaused: false,
    };
    this.#runs.set(runId, parked);
    this.#record("asked", parked, { requestId });
    this.#makeRoom(parked.principalId);
    if (this.#isClosing) this.#lose(runId, "closed");
    if (signal.aborted) this.#lose(runId, "unheard");
    else signal.addEventListener("abort", () => this.#lose(runId, "unheard"), { once: true });
    live.whenLost(() => this.#lose(runId, "died"));
  }

  /**
   * Finds the run that the results at the end of a turn belong to. Undefined if the turn does not end in results.
   *
   * The turn gets the run only if it has the same principal, the same history, the same terms and a result for every call.
   * If its principal asks in any other way, no later request can be right, so the run is cancelled.
   */
  take(turn: Turn, { requestId }: Pick<ParkingRequest, "requestId">): Found | undefined {
    const { messages, principal } = turn;
    const results = trailingResults(messages);
    const [first] = results;
    if (!first) return this.#loseSteered(messages, principal);
    const runId = runIdOf(first.callId) ?? "";
    const parked = this.#runs.get(runId);
    if (parked?.principalId !== principal.id) {
      const lost = this.#lossReasons.get(runId);
      return { type: "gone", reason: lost?.principalId === principal.id ? lost.reason : "unknown" };
    }
    const { live, calls, terms } = parked;
    const isComplete = results.length === calls.size && results.every(({ callId }) => calls.has(callId));
    const reason = !isComplete
      ? "incomplete"
      : historyKeys(messages.slice(0, -results.length)).at(-1) !== parked.historyKey
        ? "edited"
        : whyNot(terms, turn);
    if (reason) {
      this.#lose(runId, reason);
      return { type: "gone", reason };
    }
    this.#remove(runId, "repeated");
    const facts = { requestId, askedIn: parked.requestId, waitedMs: waitedMs(parked) };
    for (const result of results) this.#recordResult("answered", calls, principal, result, facts);
    return { type: "run", live, results: withAddedInstructions(terms, turn, results) };
  }

  /** Cancels the run of a follow-up that has a new user message after the results: a waiting run takes only results. */
  #loseSteered(messages: readonly Message[], principal: Principal): Found | undefined {
    const [first] = trailingResults(withoutQuestion(messages));
    const runId = runIdOf(first?.callId ?? "");
    if (runId === undefined) return undefined;
    if (this.#runs.get(runId)?.principalId === principal.id) {
      this.#lose(runId, "steered");
      return { type: "gone", reason: "steered" };
    }
    return this.#lossReasons.has(runId) ? undefined : { type: "gone", reason: "unknown" };
  }

  /**
   * A limit has refused a follow-up: its run waits on, or is cancelled. A run that waits on gets its time once, however
   * often the follow-up is sent.
   */
  refuse({ messages, principal }: Turn, keepsRun: boolean): void {
    const runId = runIdOf(trailingResults(messages)[0]?.callId ?? "") ?? "";
    const parked = this.#runs.get(runId);
    if (parked?.principalId !== principal.id || (keepsRun && parked.isPaused)) return;
    if (!keepsRun) {
      this.#lose(runId, "limited");
      return;
    }
    clearTimeout(parked.timer);
    parked.timer = this.#expireIn(this.#limits.pausedMs, runId);
    parked.isPaused = true;
  }

  /** Records that the follow-up is replayed from the transcript. */
  replay({ messages, principal }: Turn, { requestId }: Pick<ParkingRequest, "requestId">, reason: LossReason): void {
    const tools = toolsByCall(messages);
    for (const result of trailingResults(withoutQuestion(messages))) {
      this.#recordResult("replayed", tools, principal, result, { requestId, reason });
    }
  }

  /** From now on every run that would wait is cancelled, since its follow-up would find no gateway here. */
  stopParking(): void {
    this.#isClosing = true;
  }

  /** Cancels all runs. */
  close(): void {
    for (const runId of [...this.#runs.keys()]) this.#lose(runId, "closed");
  }

  /**
   * Evicts the oldest runs of the principal that has just parked one if it holds too many, then the oldest runs of the
   * principals that hold the most. A run that is larger than the limit is evicted itself.
   */
  #makeRoom(principalId: string): void {
    const { runsPerPrincipal, bytesPerPrincipal, runs, bytes } = this.#limits;
    const own = [...this.#runs.values()].filter((parked) => parked.principalId === principalId);
    this.#evict(own, runsPerPrincipal, bytesPerPrincipal);
    this.#evict([...this.#runs.values()], runs, bytes);
  }

  #evict(parked: readonly ParkedRun[], maxRuns: number, maxBytes: number): void {
    const total = weigh(parked);
    if (total.runs <= maxRuns && total.bytes <= maxBytes) return;
    const byPrincipal = Map.groupBy(parked, (run) => run.principalId);
    const holders = [...byPrincipal.values()].map((held) => ({ held, ...weigh(held) }));
    while (total.runs > maxRuns || total.bytes > maxBytes) {
      const unit = total.bytes > maxBytes ? "bytes" : "runs";
      const most = holders.reduce((a, b) => (b[unit] > a[unit] ? b : a));
      const oldest = most.held.shift();
      if (!oldest) return;
      for (const count of [most, total]) {
        count.runs--;
        count.bytes -= oldest.bytes;
      }
      this.#lose(oldest.live.id, "evicted");
    }
  }

  #expireIn(ms: number, runId: string): NodeJS.Timeout {
    return setTimeout(() => this.#lose(runId, "expired"), ms).unref();
  }

  #lose(runId: string, reason: LossReason): void {
    const parked = this.#remove(runId, reason);
    if (!parked) return;
    parked.live.cancel();
    this.#record("lost", parked, { requestId: parked.requestId, reason, waitedMs: waitedMs(parked) });
  }

  #remove(runId: string, reason: LossReason): ParkedRun | undefined {
    const parked = this.#runs.get(runId);
    if (!parked) return undefined;
    clearTimeout(parked.timer);
    this.#runs.delete(runId);
    this.#lossReasons.set(runId, { principalId: parked.principalId, reason });
    return parked;
  }

  #record(
    type: CallEntry["type"],
    { calls, principalId }: ParkedRun,
    facts: Pick<CallEntry, "requestId" | "reason" | "waitedMs">,
  ): void {
    for (const [callId, called] of calls) this.#callLog({ type, callId, ...called, principalId, ...facts });
  }

  #recordResult(
    type: CallEntry["type"],
    calls: ReadonlyMap<string, Called>,
    { id: principalId }: Principal,
    { callId, isError, content }: ToolMessage,
    facts: Pick<CallEntry, "requestId"> & Partial<Pick<CallEntry, "askedIn" | "reason" | "waitedMs">>,
  ): void {
    const called = calls.get(callId) ?? { tool: "" };
    this.#callLog({
      type,
      callId,
      ...called,
      principalId,
      result: { isError, bytes: resultBytes({ content }) },
      ...facts,
    });
  }
}

const MAX_LOSS_REASONS = 4096;

const weigh = (parked: readonly ParkedRun[]) => ({
  runs: parked.length,
  bytes: parked.reduce((sum, { bytes }) => sum + bytes, 0),
});

const waitedMs = ({ since }: ParkedRun): number => Math.round(performance.now() - since);

type Called = Pick<CallEntry, "tool" | "isNative">;

function toolsByCall(messages: readonly Message[]): ReadonlyMap<string, Called> {
  const tools = new Map<string, Called>();
  for (const { content } of messages) {
    for (const part of content) {
      if (part.type !== "tool-call") continue;
      tools.set(part.id, { tool: part.name, ...(part.isNative && { isNative: true }) });
    }
  }
  return tools;
}

/** Returns the messages without the user messages at the end. */
const withoutQuestion = (messages: readonly Message[]): readonly Message[] =>
  messages.slice(0, messages.findLastIndex(({ role }) => role !== "user") + 1);

/** Returns the results at the end of a conversation. */
function trailingResults(messages: readonly Message[]): readonly ToolMessage[] {
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(start).filter((message) => message.role === "tool");
}
