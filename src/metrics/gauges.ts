import { Counter, collectDefaultMetrics, Gauge, type Registry } from "prom-client";
import type { GaugeSources, ServerStats } from "./gauge-sources.ts";

/** Gauges of prom-client's own set whose names end like those of counters, which `promtool` rejects. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** Adds the gauges that are read at each scrape: the state of the gateway, its heap and its event loop. */
export function addGauges(register: Registry, sources: GaugeSources, servers: () => Iterable<ServerStats>): void {
  collectDefaultMetrics({ register });
  for (const name of MISNAMED) register.removeSingleMetric(name);

  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [register],
      collect() {
        this.set(read());
      },
    });
  };
  const sum = (pick: (stats: ServerStats) => number) => () => {
    let total = 0;
    for (const stats of servers()) total += pick(stats);
    return total;
  };
  gauge(
    "excursor_open_requests",
    "Requests under way, scrapes aside.",
    sum(({ requests }) => requests),
  );
  gauge("excursor_open_streams", "Streamed answers under way.", () => sources.streams());
  gauge("excursor_parked_runs", "Runs that wait for tool results.", () => sources.engine().parkedRuns);
  gauge("excursor_parked_bytes", "Estimated memory of the parked runs.", () => sources.engine().parkedBytes);
  gauge("excursor_upstream_sessions", "HTTP/2 connections to upstreams.", () => sources.upstream().connections);
  gauge("excursor_upstream_streams", "HTTP/2 streams to upstreams.", () => sources.upstream().streams);
  gauge(
    "excursor_upstream_waiting",
    "Upstream requests that wait for a connection with room.",
    () => sources.upstream().waiting,
  );
  gauge("excursor_hub_open_calls", "Calls of MCP servers under way.", () => sources.hub().calls);
  new Gauge({
    name: "excursor_hub_servers",
    help: "MCP servers by the state of their connection, over all keys.",
    labelNames: ["state"] as const,
    registers: [register],
    collect() {
      this.reset();
      for (const [state, count] of sources.hub().servers) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "excursor_retry_budget",
    help: "Automatic retries that are left at this moment.",
    labelNames: ["upstream"] as const,
    registers: [register],
    collect() {
      for (const [upstream, { credit }] of sources.retries()) this.set({ upstream }, credit);
    },
  });
  new Counter({
    name: "excursor_retries_total",
    help: "Automatic retries. outcome: granted, or refused because the budget was used up.",
    labelNames: ["upstream", "outcome"] as const,
    registers: [register],
    collect() {
      // The sources count for themselves, so each scrape replaces the value.
      this.reset();
      for (const [upstream, { granted, refused }] of sources.retries()) {
        this.inc({ upstream, outcome: "granted" }, granted);
        this.inc({ upstream, outcome: "refused" }, refused);
      }
    },
  });
  new Counter({
    name: "excursor_usage_records_lost_total",
    help: "Records of requests, runs and tool calls that could not be written to the usage record.",
    registers: [register],
    collect() {
      this.reset();
      this.inc(sources.lostRecords());
    },
  });
  if (sources.cluster) addClusterGauges(register, gauge, sources.cluster);
  const { traces } = sources;
  if (!traces) return;
  new Counter({
    name: "excursor_trace_spans_total",
    help: "Spans for the trace collector. outcome: exported, or dropped because it was away or refused them.",
    labelNames: ["outcome"] as const,
    registers: [register],
    collect() {
      this.reset();
      const { exported, dropped } = traces();
      this.inc({ outcome: "exported" }, exported);
      this.inc({ outcome: "dropped" }, dropped);
    },
  });
}

function addClusterGauges(
  register: Registry,
  gauge: (name: string, help: string, read: () => number) => void,
  stats: NonNullable<GaugeSources["cluster"]>,
): void {
  gauge("excursor_cluster_redis_up", "1 if the cluster's Redis replies in time.", () => (stats().isRedisUp ? 1 : 0));
  const counter = (name: string, help: string, read: () => number) => {
    new Counter({
      name,
      help,
      registers: [register],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  counter(
    "excursor_cluster_redis_failures_total",
    "Commands of the cluster's Redis that had no reply in time, or were refused.",
    () => stats().redisFailures,
  );
  counter(
    "excursor_cluster_replays_total",
    "Follow-ups of runs that this gateway did not hold, which were replayed here.",
    () => stats().replays,
  );
}
