import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CallClock } from "../../../src/mcp/connection/call-clock.ts";
import { HUB_LIMITS } from "../../../src/mcp/limits.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("a call has 60 s, 60 more with every sign of progress, and an hour in all", () => {
  const clock = new CallClock("s", HUB_LIMITS);
  for (let minute = 0; minute < 59; minute++) {
    vi.advanceTimersByTime(59_000);
    clock.touch();
  }
  expect(clock.signal.aborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(clock.signal.reason).toMatchObject({ code: "mcp_timeout" });

  const long = new CallClock("s", HUB_LIMITS);
  for (let minute = 0; minute < 61 && !long.signal.aborted; minute++) {
    vi.advanceTimersByTime(59_500);
    long.touch();
  }
  expect(long.signal.reason.message).toContain("within 3600 s");
});

it("stands still while a person is asked", async () => {
  const clock = new CallClock("s", HUB_LIMITS);
  let answer = () => {};
  const asking = clock.pauseFor(
    new Promise<void>((resolve) => {
      answer = resolve;
    }),
  );
  vi.advanceTimersByTime(10 * 60_000);
  expect(clock.signal.aborted).toBe(false);
  answer();
  await asking;
  vi.advanceTimersByTime(60_000);
  expect(clock.signal.aborted).toBe(true);
  clock.stop();
});
