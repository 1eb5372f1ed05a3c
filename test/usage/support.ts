import type { Charge } from "../../src/core/charge.ts";
import type { RequestRecord, RunRecord, ToolCallRecord } from "../../src/usage/record/records.ts";

/** A record of a request with 100 tokens in and 20 out. */
export const aRecord = (over: Partial<RequestRecord> = {}): RequestRecord => ({
  id: "0b2f8a52-5c2f-4b1e-9a0e-3d9f8a7e5c11",
  startedAt: Date.UTC(2026, 10, 16, 12),
  principalId: "owner",
  keyName: "owner",
  client: "claude-code",
  face: "anthropic-messages",
  route: "/v1/messages",
  modelAsked: "claude-sonnet-4.5",
  modelServed: "claude-sonnet-4.5",
  driver: "cursor",
  conversation: "abcdefghijklmnop",
  status: 200,
  errorCode: undefined,
  firstTokenMs: 812.3,
  durationMs: 2041.7,
  phases: { gate: 0.4, parse: 1.1, credential: 0.2, checkpoint: 3.4, "first-frame": 807.1, model: 1229.4 },
  usage: {
    inputTokens: 100,
    outputTokens: 20,
    cachedTokens: 60,
    cacheWrittenTokens: 10,
    reasoningTokens: 5,
    isEstimate: false,
  },
  usageOrigin: "upstream",
  run: { type: "fresh" },
  cost: undefined,
  cache: undefined,
  ...over,
});

export const aCall = (over: Partial<ToolCallRecord> = {}): ToolCallRecord => ({
  callId: "sess_1__call_0",
  requestId: "r",
  principalId: "owner",
  ranBy: "client",
  tool: "look",
  askedAt: Date.UTC(2026, 10, 16, 12),
  answeredAt: Date.UTC(2026, 10, 16, 12) + 10,
  outcome: "answered",
  bytes: 5,
  ...over,
});

/** A run that waits for tool results. */
export const aRun = (over: Partial<RunRecord> = {}): RunRecord => ({
  id: "run-1",
  startedAt: Date.UTC(2026, 10, 16, 12),
  principalId: "owner",
  requestIds: ["a"],
  driver: "cursor",
  model: "gpt-5.5",
  conversation: "abcdefghijklmnop",
  upstreamConversation: "0b2f8a52-5c2f-4b1e-9a0e-3d9f8a7e5c11",
  account: "default",
  start: { type: "fresh" },
  parkedMs: 0,
  durationMs: 10,
  outcome: "parked",
  usage: {
    inputTokens: 1,
    outputTokens: 2,
    cachedTokens: 0,
    cacheWrittenTokens: 0,
    reasoningTokens: 0,
    isEstimate: true,
  },
  usageOrigin: "estimate",
  ...over,
});

export const aCharge = (over: Partial<Charge> = {}): Charge => ({
  at: Date.UTC(2026, 10, 16, 12),
  conversationId: "c",
  model: "m",
  inputTokens: 1,
  outputTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costMicros: 2,
  chargedMicros: 1,
  ...over,
});
