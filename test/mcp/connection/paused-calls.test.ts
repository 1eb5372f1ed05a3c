import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Elicit } from "../../../src/core/hub/tool-hub.ts";
import { PausedCalls } from "../../../src/mcp/connection/paused-calls.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const { signal } = new AbortController();
const question = { server: "srv", message: "who?", schema: {} };

/** Asks so many times, and gives back all answers. */
const asking = (times: number) => async (elicit: Elicit, own: AbortSignal) => {
  const answers: string[] = [];
  for (let n = 0; n < times; n++) answers.push((await elicit({ ...question, message: String(n) }, own)).action);
  return answers;
};

it("a call goes on with each answer, up to its result", async () => {
  const paused = new PausedCalls<string[]>(1000);
  let step = await paused.begin("me", asking(2), signal);
  for (const [n, action] of (["decline", "cancel"] as const).entries()) {
    if (step.type !== "asks") throw new Error("it does not ask");
    expect(step.question.message).toBe(String(n));
    const resumed = paused.resume("me", step.ticket, { action }, signal);
    expect(resumed).toBeDefined();
    step = (await resumed) ?? step;
  }
  expect(step).toEqual({ type: "done", result: ["decline", "cancel"] });
});

it("a ticket is good once, and for its owner alone (SEC-30)", async () => {
  const paused = new PausedCalls<string[]>(1000);
  const step = await paused.begin("me", asking(1), signal);
  const ticket = step.type === "asks" ? step.ticket : "";
  expect(paused.resume("another", ticket, { action: "decline" }, signal)).toBeUndefined();
  expect(paused.resume("me", "made-up", { action: "decline" }, signal)).toBeUndefined();
  expect(await paused.resume("me", ticket, { action: "decline" }, signal)).toMatchObject({ type: "done" });
  expect(paused.resume("me", ticket, { action: "decline" }, signal)).toBeUndefined();
});

it("a call that is not answered in time is given up, and so is the oldest of too many", async () => {
  const paused = new PausedCalls<string[]>(1000);
  const ended: string[] = [];
  const begin = (name: string) =>
    paused.begin(
      "me",
      (elicit, own) => {
        own.addEventListener("abort", () => ended.push(name));
        return asking(1)(elicit, own);
      },
      signal,
    );
  const first = await begin("first");
  await vi.advanceTimersByTimeAsync(1000);
  expect(ended).toEqual(["first"]);
  expect(paused.resume("me", first.type === "asks" ? first.ticket : "", { action: "decline" }, signal)).toBeUndefined();
  for (let n = 0; n < 65; n++) await begin(String(n));
  expect(ended).toEqual(["first", "0"]);
});

it("a call ends with the request that waits for it, and not with one that has its question", async () => {
  const paused = new PausedCalls<never>(1000);
  const before = new AbortController();
  let isAborted = false;
  const step = await paused.begin(
    "me",
    async (elicit, own) => {
      own.addEventListener("abort", () => {
        isAborted = true;
      });
      await elicit(question, own);
      own.throwIfAborted();
      return new Promise<never>((_, reject) => own.addEventListener("abort", () => reject(own.reason)));
    },
    before.signal,
  );
  before.abort();
  expect(isAborted).toBe(false);
  const after = new AbortController();
  const resumed = paused.resume("me", step.type === "asks" ? step.ticket : "", { action: "decline" }, after.signal);
  after.abort();
  await expect(resumed).rejects.toMatchObject({ name: "AbortError" });
  expect(isAborted).toBe(true);
});
