import { describe, expect, it, vi } from "vitest";
import { within } from "../../src/core/within.ts";

const never = new Promise<never>(() => {});

describe("a wait with a limit", () => {
  it("gives the result, or the failure, of work that settles in time, and leaves no timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] });
    try {
      expect(await within(Promise.resolve(1), 1000)).toBe(1);
      await expect(within(Promise.reject(new Error("broken")), 1000)).rejects.toThrow("broken");
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives undefined, or what is given or thrown instead, when the time is over", async () => {
    expect(await within(never, 1)).toBeUndefined();
    expect(await within(never, 1, () => "late")).toBe("late");
    await expect(
      within(never, 1, () => {
        throw new Error("too late");
      }),
    ).rejects.toThrow("too late");
  });

  it("prefers a result that came while the thread was busy", async () => {
    const work = new Promise<string>((resolve) => setTimeout(resolve, 2, "done"));
    const outcome = within(work, 1, () => "late");
    for (const until = performance.now() + 10; performance.now() < until; );
    expect(await outcome).toBe("done");
  });

  it("swallows a failure after that", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    expect(await within(promise, 1)).toBeUndefined();
    reject(new Error("afterwards"));
    await new Promise(setImmediate);
  });
});
