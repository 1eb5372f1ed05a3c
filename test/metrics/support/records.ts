import type { GaugeSources } from "../../../src/metrics/gauge-sources.ts";
import type { RequestRecord, ToolCallRecord } from "../../../src/usage/record/records.ts";

export const requestRecord = (extra: Partial<RequestRecord> = {}): RequestRecord => ({
  id: "req-1",
  startedAt: 1_790_000_000_000,
  principalId: "owner",
  keyName: "owner",
  client: "openai-sdk",
  face: "openai-chat",
  route: "/v1/chat/completions",
  modelAsked: "some-model",
  modelServed: "some-model",
  driver: "cursor",
  conversation: "conv-1",
  status: 200,
  errorCode: undefined,
  firstTokenMs: 400,
  durationMs: 2400,
  phases: { gate: 1, open: 100, "first-frame": 299, model: 2000 },
  usage: {
    inputTokens: 1000,
    outputTokens: 101,
    cachedTokens: 800,
    cacheWrittenTokens: 0,
    reasoningTokens: 20,
    isEstimate: false,
  },
  usageOrigin: "upstream",
  run: { type: "fresh" },
  cost: { micros: 2500, isEstimate: true, source: "list price" },
  cache: undefined,
  ...extra,
});

export const toolCallRecord = (extra: Partial<ToolCallRecord> = {}): ToolCallRecord => ({
  callId: "call-1",
  requestId: "req-1",
  principalId: "owner",
  ranBy: "hub",
  server: "files",
  tool: "files__read",
  askedAt: 1_790_000_000_500,
  answeredAt: 1_790_000_000_750,
  outcome: "answered",
  bytes: 12,
  ...extra,
});

export const SOURCES: GaugeSources = {
  streams: () => 0,
  engine: () => ({ parkedRuns: 2, parkedBytes: 4096 }),
  upstream: () => ({ connections: 1, streams: 3, waiting: 0 }),
  retries: () => [["cursor", { credit: 9.5, granted: 4, refused: 1 }]],
  hub: () => ({ servers: new Map([["ready", 2]]), calls: 1 }),
  lostRecords: () => 0,
  cluster: () => ({
    isRedisUp: true,
    redisFailures: 1,
    replays: 4,
  }),
};
