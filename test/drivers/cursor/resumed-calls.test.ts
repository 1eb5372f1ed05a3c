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
    for (const [execId, id] of ["a", "b"].entries()) {
      calls.add({ execId, id, toolCallId: id, name: "t", args: {}, reply: () => [] });
    }
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

describe("fact 6: an announced batch", () => {
  const setUp = (announced: number) => {
    const onComplete = vi.fn();
    const calls = new PendingCalls(onComplete);
    calls.announce(announced);
    const add = (execId: number) =>
      calls.add({ execId, id: `${execId}`, toolCallId: `${execId}`, name: "t", args: {}, reply: () => [] });
    return { calls, onComplete, add };
  };

  it.each([40, 2 ** 31 - 1])("of %s calls that brings 3 is complete after 2 s of silence", (announced) => {
    const { calls, onComplete, add } = setUp(announced);
    for (const execId of [0, 1, 2]) {
      add(execId);
      calls.complete();
      vi.advanceTimersByTime(1999);
    }
    expect(onComplete).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onComplete).toHaveBeenCalledOnce();
  });

  it("is complete once its other calls are done, which the client does not get", () => {
    const { calls, onComplete, add } = setUp(2);
    add(0);
    calls.settle("a web search");
    expect(onComplete).toHaveBeenCalledOnce();
  });
});
