import { randomUUID } from "node:crypto";
import type { CallEntry, HubCallEntry } from "../../core/engine/call-log.ts";
import { estimateInputTokens } from "../../core/rules/usage-estimate.ts";
import type { UsageLimits } from "../limits/usage-limits.ts";
import { conversationId } from "./conversation.ts";
import type { RequestRecord, ToolCallRecord, UsageSink } from "./records.ts";
import { type RecordingParts, type RequestEnd, RequestRecording } from "./request-recording.ts";

export interface UsageRecorderOptions {
  readonly sinks: readonly UsageSink[];
  /** Returns the name of a driver for people, by the name that the engine routes to. */
  readonly driverName?: (route: string) => string;
  /** Adds the cost to a record. */
  readonly price?: (record: RequestRecord) => RequestRecord;
  /** Adds the prompt cache to a record with its cost. */
  readonly complete?: (record: RequestRecord, recording: RequestRecording) => RequestRecord;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
  /** Absent: nothing is limited. */
  readonly limits?: UsageLimits | undefined;
}

/** Makes the records of requests and tool calls, and hands them to the sinks. */
export class UsageRecorder {
  readonly #sinks: readonly UsageSink[];
  readonly #price: (record: RequestRecord) => RequestRecord;
  readonly #complete: (record: RequestRecord, recording: RequestRecording) => RequestRecord;
  readonly #wallClock: () => number;
  readonly #parts: RecordingParts;
  /** Requests under way, for what the call logs know of them. */
  readonly #open = new Map<string, RequestRecording>();

  constructor(options: UsageRecorderOptions) {
    const { sinks, driverName = (route) => route, complete = (record) => record, wallClock = Date.now } = options;
    this.#sinks = sinks;
    this.#price = options.price ?? ((record) => record);
    this.#complete = complete;
    this.#wallClock = wallClock;
    const { limits } = options;
    // Ids of runs are stored with each run, so they are short. The first part makes them unique among processes.
    const prefix = Buffer.from(randomUUID().replaceAll("-", "").slice(0, 18), "hex").toString("base64url");
    let runs = 0;
    this.#parts = {
      driverName,
      keepsAnswer: sinks.some(({ wantsContent }) => wantsContent),
      onRun: (record) => {
        for (const sink of sinks) sink.run?.(record);
      },
      newRunId: () => `${prefix}${(runs++).toString(36)}`,
      reserve:
        limits &&
        ((turn, model, route) =>
          limits.reserve(turn.principal.id, () => ({
            model,
            driver: driverName(route),
            conversation: conversationId(turn),
            inputTokens: estimateInputTokens(turn),
          }))),
    };
  }

  /** Begins to record a request. `startMs` is when it arrived, by `performance.now()`. */
  begin(id: string, startMs: number): RequestRecording {
    const recording = new RequestRecording(id, startMs, this.#wallClock(), this.#parts);
    this.#open.set(id, recording);
    return recording;
  }

  /** The request is over, and so are its runs as far as it is concerned. */
  end(recording: RequestRecording, end: RequestEnd): void {
    // Clients choose ids: two requests under way may have the same.
    if (this.#open.get(recording.id) === recording) this.#open.delete(recording.id);
    let record = this.#complete(this.#price(recording.finish(end)), recording);
    for (const sink of this.#sinks) sink.request(record, sink.wantsContent ? recording.content : undefined);
    recording.stored(record, (corrected) => {
      const before = record;
      record = this.#price(corrected);
      for (const sink of this.#sinks) sink.corrected?.(record, before);
      return record;
    });
  }

  readonly onCall = (entry: CallEntry): void => {
    const outcome = outcomeOf(entry);
    const { callId, tool, principalId, requestId, askedIn, waitedMs = 0, result, isNative } = entry;
    if (entry.type === "answered") this.#open.get(requestId)?.waited(waitedMs);
    if (!outcome) return;
    const now = this.#wallClock();
    this.#tell({
      callId,
      requestId: askedIn ?? requestId,
      principalId,
      ranBy: isNative ? "native" : "client",
      tool,
      askedAt: now - waitedMs,
      answeredAt: result && now,
      outcome,
      bytes: result?.bytes,
    });
  };

  readonly onHubCall = (entry: HubCallEntry): void => {
    const { type, callId, tool, server, serverTool, principalId, requestId, outcome, ms = 0, bytes } = entry;
    if (type !== "finished") return;
    this.#open.get(requestId)?.ranTool(ms);
    const now = this.#wallClock();
    this.#tell({
      callId,
      requestId,
      principalId,
      ranBy: "hub",
      server,
      tool: serverTool ?? tool,
      askedAt: now - ms,
      answeredAt: outcome === "canceled" ? undefined : now,
      outcome: outcome === "ok" ? "answered" : outcome === "canceled" ? "lost" : "failed",
      bytes,
    });
  };

  #tell(record: ToolCallRecord): void {
    for (const sink of this.#sinks) sink.toolCall(record);
  }
}

/** Undefined if the call is not over. The losses that a follow-up causes are left out: its replay comes next. */
function outcomeOf({ type, reason, result }: CallEntry): ToolCallRecord["outcome"] | undefined {
  if (type === "answered") return result?.isError ? "failed" : "answered";
  if (type === "replayed") return "replayed";
  if (type === "asked" || REPLAYED_AT_ONCE.has(reason ?? "")) return undefined;
  return reason === "expired" ? "expired" : "lost";
}

const REPLAYED_AT_ONCE: ReadonlySet<string> = new Set(["edited", "redirected", "retooled", "steered", "incomplete"]);
