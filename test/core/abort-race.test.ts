import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { unlessAborted, untilAborted } from "../../src/core/abort-race.ts";

const never = new Promise<never>(() => {});

describe("a wait that an abort ends", () => {
  it("gives the result, or the failure, of work that settles first", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(unlessAborted(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
    await expect(untilAborted(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("rejects with the reason, or the given error", async () => {
    const abort = new AbortController();
    const waits = [unlessAborted(never, abort.signal), unlessAborted(never, abort.signal, new Error("gone"))];
    abort.abort(new Error("why"));
    const [own, given] = await Promise.allSettled(waits);
    expect(own).toMatchObject({ reason: { message: "why" } });
    expect(given).toMatchObject({ reason: { message: "gone" } });
  });

  it("resolves with undefined where that is asked for", async () => {
    const abort = new AbortController();
    const wait = untilAborted(never, abort.signal);
    abort.abort();
    expect(await wait).toBeUndefined();
  });

  it("ends at once if the signal has aborted before", async () => {
    const signal = AbortSignal.abort(new Error("before"));
    await expect(unlessAborted(never, signal)).rejects.toThrow("before");
    expect(await untilAborted(never, signal)).toBeUndefined();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("swallows a failure that comes after the abort", async () => {
    const failures: unknown[] = [];
    const note = (reason: unknown) => failures.push(reason);
    process.on("unhandledRejection", note);
    const abort = new AbortController();
    const work = Promise.withResolvers<void>();
    const wait = untilAborted(work.promise, abort.signal);
    abort.abort();
    await wait;
    work.reject(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(failures).toEqual([]);
  });
});
