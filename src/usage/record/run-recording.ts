import type { LossReason } from "../../core/engine/call-log.ts";
import type { Usage } from "../../core/events.ts";
import { addUsage } from "../../core/rules/usage-estimate.ts";
import type { RunEnding, RunWatch, UpstreamRun, UsageOrigin } from "../../core/run-meter.ts";
import type { RequestRecord, RunRecord, RunStart } from "./records.ts";
import { leastCertain } from "./usage-origin.ts";

/** The request that a run answers now. */
export interface RunRequest {
  readonly id: string;
  /** What its record says; undefined while it is under way. */
  readonly record: RequestRecord | undefined;
  /** The figures of a finished run have come late. */
  corrected(difference: Usage): void;
}

/** What all runs of a recorder share. */
export interface RunParts {
  readonly onRun: (record: RunRecord) => void;
  readonly newRunId: () => string;
}

const MAX_REQUESTS = 32;

/**
 * Gathers what happens to one run, over all requests that it answers. Its record is handed on when a part of it is over and
 * the request of that part has a record, and again when something changes after that: the later record replaces the
 * earlier one.
 */
export class RunRecording implements RunWatch {
  readonly #id: string;
  readonly #startedAt: number;
  readonly #start = performance.now();
  readonly #lost: LossReason | undefined;
  readonly #tell: (record: RunRecord) => void;
  #request: RunRequest;
  readonly #requestIds: string[];
  #upstream: UpstreamRun | undefined;
  #ending: RunEnding | undefined;
  #parkedAt: number | undefined;
  #parkedMs = 0;
  #endMs = 0;
  #usage: Usage | undefined;
  #origin: UsageOrigin | undefined;

  /** `lost` says why the run before this one was lost, if there was one. */
  constructor(request: RunRequest, lost: LossReason | undefined, wallClock: number, parts: RunParts) {
    this.#id = parts.newRunId();
    this.#request = request;
    this.#requestIds = [request.id];
    this.#lost = lost;
    this.#startedAt = wallClock;
    this.#tell = parts.onRun;
  }

  sent(upstream: UpstreamRun): void {
    // Later attempts of the same run may begin from a checkpoint of this run.
    this.#upstream = { ...upstream, start: this.#upstream?.start ?? upstream.start };
  }

  ended(ending: RunEnding, used?: { readonly usage: Usage; readonly origin: UsageOrigin }): void {
    const now = performance.now();
    this.#stopWaiting(now);
    this.#ending = ending;
    this.#endMs = now - this.#start;
    if (ending === "parked") this.#parkedAt = now;
    if (used) {
      const isExact = used.origin === "upstream";
      const sum = this.#usage ? addUsage(this.#usage, used.usage) : used.usage;
      // The last figures of the upstream correct the estimates before them.
      this.#usage = { ...sum, isEstimate: !isExact };
      this.#origin = isExact ? "upstream" : leastCertain(this.#origin, used.origin);
    }
    this.settle();
  }

  /** Another request goes on with the run. */
  goesOn(request: RunRequest): void {
    this.#stopWaiting(performance.now());
    this.#ending = undefined;
    if (request === this.#request) return;
    this.#request = request;
    if (this.#requestIds.length < MAX_REQUESTS) this.#requestIds.push(request.id);
  }

  corrected(difference: Usage): void {
    this.#usage = { ...(this.#usage ? addUsage(this.#usage, difference) : difference), isEstimate: false };
    this.#origin = "upstream";
    this.#request.corrected(difference);
    this.settle();
  }

  /** Hands the record on, if there is something to say. */
  settle(): void {
    const { record } = this.#request;
    if (!record || !this.#ending) return;
    this.#tell({
      id: this.#id,
      startedAt: this.#startedAt,
      principalId: record.principalId,
      requestIds: [...this.#requestIds],
      driver: record.driver,
      model: record.modelServed,
      conversation: record.conversation,
      upstreamConversation: this.#upstream?.conversation,
      account: this.#upstream?.account,
      start: startOf(this.#upstream, this.#lost),
      parkedMs: Math.round(this.#parkedMs),
      durationMs: Math.round(this.#endMs),
      outcome: this.#ending,
      usage: this.#usage,
      usageOrigin: this.#origin,
    });
  }

  #stopWaiting(now: number): void {
    if (this.#parkedAt !== undefined) this.#parkedMs += now - this.#parkedAt;
    this.#parkedAt = undefined;
  }
}

function startOf(upstream: UpstreamRun | undefined, lost: LossReason | undefined): RunStart {
  if (lost !== undefined) return { type: "replayed", reason: lost };
  if (upstream?.start === "checkpoint") return { type: "resumed" };
  return upstream?.start === "transcript" ? { type: "replayed", reason: "no-checkpoint" } : { type: "fresh" };
}
