import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { OwnerPrompts } from "../../src/core/owner-prompts.ts";
import { type NowSources, nowMessage } from "../../src/dashboard/calls/now.ts";
import { Feed } from "../../src/dashboard/feed.ts";
import { Session, Sessions } from "../../src/dashboard/sessions.ts";
import { RecentRequests } from "../../src/usage/record/recent-requests.ts";
import { aRecord } from "../usage/support.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A response that keeps what is written to it, or takes nothing. */
function aResponse(isStalled = false) {
  const written: string[] = [];
  const stream = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write(chunk, _, done) {
      written.push(String(chunk));
      if (!isStalled) done();
    },
  });
  return { written, response: Object.assign(stream, { writeHead: () => stream }) as unknown as ServerResponse };
}

function open(message: () => object, isStalled = false) {
  const sessions = new Sessions();
  const session = sessions.find(sessions.begin().reveal()) ?? new Session(0);
  const { written, response } = aResponse(isStalled);
  new Feed({ sessions, message }).open(
    { response, signal: new AbortController().signal, commonHeaders: () => ({}) },
    session,
  );
  return { written, response };
}

it("sends at most four messages a second, however often things change", async () => {
  let count = 0;
  const { written } = open(() => ({ count: count++ }));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(written).toHaveLength(41);
});

it("sends nothing while nothing changes, but a sign of life every ten seconds", async () => {
  const { written } = open(() => ({}));
  await vi.advanceTimersByTimeAsync(9_000);
  expect(written).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(written).toHaveLength(2);
});

it("does not queue messages for a page that does not read, and drops it (REL-04)", async () => {
  let count = 0;
  const { written, response } = open(() => ({ count: count++ }), true);
  await vi.advanceTimersByTimeAsync(29_000);
  expect([written.length, response.destroyed]).toEqual([1, false]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([written.length, response.destroyed]).toEqual([1, true]);
});

it("makes no message while no page is open", async () => {
  const message = vi.fn(() => ({}));
  const { response } = open(message);
  response.destroy();
  await vi.advanceTimersByTimeAsync(1_000);
  const before = message.mock.calls.length;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(message.mock.calls.length).toBe(before);
});

it("has messages of bounded size", () => {
  const long = "x".repeat(500);
  const recent = new RecentRequests(50);
  for (let count = 0; count < 100; count++) {
    recent.request(aRecord({ id: "i".repeat(64), keyName: long, client: long, modelServed: long, errorCode: long }));
  }
  const prompts = new OwnerPrompts();
  for (let count = 0; count < 100; count++) {
    const question = { type: "question", id: randomUUID(), title: long, options: [], detail: {}, answer() {} } as const;
    prompts.add({ from: long, question });
  }
  const sources: NowSources = {
    recent,
    keyName: () => long,
    lastLogLine: () => 1,
    prompts,
    engine: {
      dropRun: () => false,
      parkedRuns: () =>
        Array.from({ length: 1000 }, () => ({
          id: "sess_0123456789012345678901",
          principalId: "owner",
          requestId: "r",
          model: long,
          tools: Array.from({ length: 64 }, () => long),
          bytes: 1e6,
          isPaused: false,
          waitedMs: 1e6,
        })),
    },
    server: {
      streams: 1000,
      requests: () =>
        Array.from({ length: 1000 }, () => ({
          id: "i".repeat(64),
          keyName: long,
          client: long,
          route: long,
          model: long,
          driver: long,
          phase: "first-frame" as const,
          run: "replayed" as const,
          firstTokenMs: 1e6,
          elapsedMs: 1e6,
          outputTokens: 1e6,
        })),
    },
  };
  const message = nowMessage(sources);
  expect(JSON.stringify(message).length).toBeLessThan(128 * 1024);
  expect([message.requestCount, message.parkedCount]).toEqual([1000, 1000]);
});
