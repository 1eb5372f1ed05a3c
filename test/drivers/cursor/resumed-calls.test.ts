import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ToolMessage } from "../../../src/core/turn.ts";
import { PendingCalls } from "../../../src/drivers/cursor/run/pending-calls.ts";
import { ResumeWatch } from "../../../src/drivers/cursor/run/resume-watch.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a stream that got its results", () => {
  it.each([
    ["is given up after 20 s in which nothing came", false, ["resume_stalled"]],
    ["is left alone once anything came", true, []],
  ])("%s (REL-31)", (_, stirs, expected) => {
    const stalled: string[] = [];
    const watch = new ResumeWatch();
    watch.start(({ code }) => stalled.push(code));
    vi.advanceTimersByTime(19_999);
    expect(stalled).toEqual([]);
    if (stirs) watch.stop();
    vi.advanceTimersByTime(1);
    expect(stalled).toEqual(expected);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("answered calls", () => {
  const result = (callId: string): ToolMessage => ({ role: "tool", callId, content: [], isError: false });
  const setUp = () => {
    const calls = new PendingCalls(() => {});
    for (const id of ["a", "b"]) calls.add({ execId: 1, id, name: "t", args: {}, reply: () => [] });
    calls.complete();
    expect(calls.isSettled).toBe(true);
    calls.replies([result("a"), result("b")]);
    return calls;
  };

  it("are settled when the backend has said so of each", () => {
    const calls = setUp();
    calls.settle("a");
    expect(calls.isSettled).toBe(false);
    calls.settle("b");
    expect(calls.isSettled).toBe(true);
  });

  it("are settled when the model has gone on", () => {
    const calls = setUp();
    calls.settle();
    expect(calls.isSettled).toBe(true);
  });
});
