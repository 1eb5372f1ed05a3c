import { Counter, Histogram, type Registry } from "prom-client";
import type { Usage } from "../core/events.ts";
import type { Cost, RequestRecord, ToolCallRecord, UsageSink } from "../usage/record/records.ts";
import { LabelCap } from "./label-cap.ts";

const MAX_MODELS = 200;
const MAX_NAMES = 100;

const MS = 1000;
const MICROS = 1_000_000;

/** The value of a label where there is nothing to say. */
const NONE = "none";

/** Counts records of finished requests and tool calls. Each record costs a few map look-ups, and no token costs anything. */
export function createRequestMetrics(register: Registry): UsageSink {
  const registers = [register];
  const requests = new Counter({
    name: "excursor_requests_total",
    help: "Finished requests.",
    labelNames: ["route", "client", "status"] as const,
    registers,
  });
  const errors = new Counter({
    name: "excursor_errors_total",
    help: "Requests that failed, by the code that the client got.",
    labelNames: ["code", "driver"] as const,
    registers,
  });
  const turns = new Counter({
    name: "excursor_turns_total",
    help: "Requests that had a run. run: fresh, resumed (a parked run went on), replayed (rebuilt from the transcript).",
    labelNames: ["model", "driver", "run"] as const,
    registers,
  });
  const replays = new Counter({
    name: "excursor_replays_total",
    help: "Follow-ups that were replayed from the transcript, by reason.",
    labelNames: ["reason"] as const,
    registers,
  });
  const tokens = new Counter({
    name: "excursor_tokens_total",
    help: "Tokens. cached and cache_written are parts of input, reasoning is a part of output.",
    labelNames: ["model", "kind"] as const,
    registers,
  });
  const cost = new Counter({
    name: "excursor_cost_dollars_total",
    help: "Cost in dollars. estimate: whether the figure is computed from estimated tokens or prices.",
    labelNames: ["model", "estimate"] as const,
    registers,
  });
  const firstToken = new Histogram({
    name: "excursor_first_token_seconds",
    help: "Time from the request to the first event of the answer.",
    labelNames: ["model"] as const,
    buckets: [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    registers,
  });
  const tokenGap = new Histogram({
    name: "excursor_inter_token_seconds",
    help: "Mean time between output tokens, one value for each answer.",
    labelNames: ["model"] as const,
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
    registers,
  });
  const duration = new Histogram({
    name: "excursor_request_duration_seconds",
    help: "Time from the request to the end of the response.",
    labelNames: ["route"] as const,
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const phase = new Histogram({
    name: "excursor_phase_duration_seconds",
    help: "Time that requests spend in each phase.",
    labelNames: ["phase"] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
    registers,
  });
  const toolCalls = new Counter({
    name: "excursor_tool_calls_total",
    help: "Tool calls by who ran them and how they ended.",
    labelNames: ["ran_by", "outcome"] as const,
    registers,
  });
  const hubCalls = new Counter({
    name: "excursor_hub_calls_total",
    help: "Tool calls that the gateway made itself, by MCP server.",
    labelNames: ["server", "outcome"] as const,
    registers,
  });
  const hubDuration = new Histogram({
    name: "excursor_hub_call_duration_seconds",
    help: "Time that MCP servers take for a call.",
    labelNames: ["server"] as const,
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300],
    registers,
  });

  const countTokens = neverFalling<"model" | "kind">(tokens);
  const countCost = neverFalling<"model" | "estimate">(cost);
  const models = new LabelCap(MAX_MODELS);
  const [routes, clients, codes, drivers, servers] = Array.from({ length: 5 }, () => new LabelCap(MAX_NAMES));
  const capped = (cap: LabelCap | undefined, value: string | undefined): string =>
    value === undefined || value === "" ? NONE : (cap?.of(value) ?? NONE);

  const countRun = ({ run }: RequestRecord, model: string, driver: string): void => {
    if (!run) return;
    turns.inc({ model, driver, run: run.type });
    if (run.type === "replayed") replays.inc({ reason: run.reason });
  };

  /** Adds figures, or takes them back if the sign is -1. */
  const addUsed = (model: string, usage: Usage | undefined, charged: Cost | undefined, sign: 1 | -1): void => {
    if (charged) countCost({ model, estimate: String(charged.isEstimate) }, (sign * charged.micros) / MICROS);
    if (!usage) return;
    const count = (kind: string, amount: number) => {
      if (amount !== 0) countTokens({ model, kind }, sign * amount);
    };
    count("input", usage.inputTokens);
    count("output", usage.outputTokens);
    count("cached", usage.cachedTokens);
    count("cache_written", usage.cacheWrittenTokens);
    count("reasoning", usage.reasoningTokens);
  };

  const countUsage = (record: RequestRecord, model: string): void => {
    const { usage, cost: charged, firstTokenMs, durationMs, phases, errorCode } = record;
    addUsed(model, usage, charged, 1);
    if (firstTokenMs !== undefined) firstToken.observe({ model }, firstTokenMs / MS);
    if (!usage) return;
    if (firstTokenMs === undefined || errorCode !== undefined || usage.outputTokens < 2) return;
    const writingMs = durationMs - firstTokenMs - (phases.tools ?? 0);
    tokenGap.observe({ model }, Math.max(0, writingMs) / MS / (usage.outputTokens - 1));
  };

  return {
    request(record) {
      const { durationMs, errorCode, phases } = record;
      const model = capped(models, modelOf(record));
      const driver = capped(drivers, record.driver);
      const route = capped(routes, record.route);
      requests.inc({ route, client: capped(clients, record.client), status: String(record.status) });
      if (errorCode !== undefined) errors.inc({ code: capped(codes, errorCode), driver });
      duration.observe({ route }, durationMs / MS);
      for (const [name, ms] of Object.entries(phases)) phase.observe({ phase: name }, ms / MS);
      countRun(record, model, driver);
      countUsage(record, model);
    },
    corrected(record, before) {
      const model = capped(models, modelOf(record));
      addUsed(model, before.usage, before.cost, -1);
      addUsed(model, record.usage, record.cost, 1);
    },
    toolCall({ ranBy, outcome, server, askedAt, answeredAt }: ToolCallRecord) {
      toolCalls.inc({ ran_by: ranBy, outcome });
      if (ranBy !== "hub") return;
      const label = capped(servers, server);
      hubCalls.inc({ server: label, outcome });
      if (answeredAt !== undefined) hubDuration.observe({ server: label }, Math.max(0, answeredAt - askedAt) / MS);
    },
  };
}

/**
 * Adds to a counter figures that may be negative, since a record may correct the estimate of an earlier one. A counter must
 * not fall, so a negative figure is taken off the next positive ones.
 */
function neverFalling<Label extends string>(counter: Counter<Label>) {
  const owed = new Map<string, number>();
  return (labels: Readonly<Record<Label, string>>, amount: number): void => {
    if (amount === 0) return;
    const key = owed.size > 0 || amount < 0 ? JSON.stringify(labels) : "";
    const rest = amount - (owed.get(key) ?? 0);
    if (rest < 0) owed.set(key, -rest);
    else owed.delete(key);
    if (rest > 0) counter.inc(labels, rest);
  };
}

/** Only models that exist become labels: otherwise clients could fill the table with names of their own. */
const modelOf = ({ modelServed, errorCode }: RequestRecord): string | undefined =>
  errorCode === "model_not_found" ? undefined : modelServed;
