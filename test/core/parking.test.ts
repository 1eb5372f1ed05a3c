import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Run } from "../../src/core/driver.ts";
import { LiveRun, sessionOf } from "../../src/core/live-run.ts";
import { Parking, type ParkingLimits } from "../../src/core/parking.ts";
import type { AssistantMessage, Message, ToolMessage } from "../../src/core/turn.ts";
import { aTurn } from "./support/turns.ts";

const LIMITS: ParkingLimits = { ttlMs: 1000, perPrincipal: 3, total: 5 };
const asked: Message = { role: "user", content: [{ type: "text", text: "go" }] };
const turnOf = (messages: readonly Message[], id = "p1") => aTurn({ messages, principal: { id, token: undefined } });

/** A run that waits for two results, and notes what becomes of it. */
function waiting() {
  let cancelled = 0;
  const run: Run = {
    answer: () => true,
    cancel: () => {
      cancelled++;
    },
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  };
  const live = new LiveRun(() => run);
  const calls = live.rename(["a", "b"].map((id) => ({ type: "tool-call", id, name: "t", args: {} })));
  const answer: AssistantMessage = {
    role: "assistant",
    content: calls.flatMap((call) => (call.type === "tool-call" ? [call] : [])),
  };
  const results = calls.map((call): ToolMessage => {
    const callId = call.type === "tool-call" ? call.id : "";
    return { role: "tool", callId, content: [{ type: "text", text: "r" }], isError: false };
  });
  return { live, answer, results, cancelled: () => cancelled };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("parked runs", () => {
  it("are found by the results of their calls, once, in any order", () => {
    const parking = new Parking(LIMITS);
    const { live, answer, results } = waiting();
    parking.park(live, turnOf([asked]), answer);
    const followUp = turnOf([asked, answer, ...results.toReversed()]);
    expect(parking.take(followUp)?.live).toBe(live);
    expect(parking.take(followUp)).toBeUndefined();
  });

  it("are unknown to everybody else, and stay where they are (SEC-32)", () => {
    const parking = new Parking(LIMITS);
    const { live, answer, results, cancelled } = waiting();
    parking.park(live, turnOf([asked]), answer);
    expect(parking.take(turnOf([asked, answer, ...results], "stranger"))).toBeUndefined();
    expect([parking.size, cancelled()]).toEqual([1, 0]);
    expect(parking.take(turnOf([asked, answer, ...results]))?.live).toBe(live);
  });

  it.each<[string, (parts: ReturnType<typeof waiting>) => readonly Message[]]>([
    ["another history", ({ answer, results }) => [{ ...asked, content: [] }, answer, ...results]],
    ["a missing result", ({ answer, results }) => [asked, answer, ...results.slice(0, 1)]],
  ])("are given up by %s of their owner", (_, messages) => {
    const parking = new Parking(LIMITS);
    const parts = waiting();
    parking.park(parts.live, turnOf([asked]), parts.answer);
    expect(parking.take(turnOf(messages(parts)))).toBeUndefined();
    expect([parking.size, parts.cancelled()]).toEqual([0, 1]);
  });

  it("are cancelled when their time is up, and when others need the room, oldest first (REL-30)", () => {
    const parking = new Parking(LIMITS);
    const all = Array.from({ length: 7 }, waiting);
    all.forEach(({ live, answer }, n) => {
      parking.park(live, turnOf([asked], n < 4 ? "p1" : "p2"), answer);
    });
    expect(all.map(({ cancelled }) => cancelled())).toEqual([1, 1, 0, 0, 0, 0, 0]);
    vi.advanceTimersByTime(LIMITS.ttlMs);
    expect([parking.size, all.every(({ cancelled }) => cancelled() === 1)]).toEqual([0, true]);
  });

  it("whatever happens, each is taken or cancelled exactly once (FUZ-08)", () => {
    const step = fc.record({
      owner: fc.constantFrom("p1", "p2"),
      fate: fc.constantFrom("take", "edit", "wait", "leave"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const parking = new Parking(LIMITS);
        const fates = steps.map(({ owner, fate }) => {
          const { live, answer, results, cancelled } = waiting();
          parking.park(live, turnOf([asked], owner), answer);
          const messages = [fate === "edit" ? { ...asked, content: [] } : asked, answer, ...results];
          const isTaken =
            fate === "take" || fate === "edit" ? parking.take(turnOf(messages, owner)) !== undefined : false;
          if (fate === "wait") vi.advanceTimersByTime(LIMITS.ttlMs / 2);
          return { isTaken, cancelled };
        });
        parking.close();
        expect(parking.size).toBe(0);
        for (const { isTaken, cancelled } of fates) expect(cancelled()).toBe(isTaken ? 0 : 1);
      }),
    );
  });
});

it("call ids are short, unguessable, and lead to their session", () => {
  const { live, results } = waiting();
  for (const { callId } of results) {
    expect(callId).toMatch(/^sess_[\w-]{22}__call_\d+$/);
    expect(callId.length).toBeLessThanOrEqual(40);
    expect(sessionOf(callId)).toBe(live.session);
  }
  for (const foreign of ["call_1", "sess_x__call_1", `${live.session}__call_`, ""])
    expect(sessionOf(foreign)).toBeUndefined();
});
