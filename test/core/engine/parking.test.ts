import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Run } from "../../../src/core/driver.ts";
import type { CallEntry } from "../../../src/core/engine/call-log.ts";
import { Parking, type ParkingLimits } from "../../../src/core/engine/parking.ts";
import { CallNames, runIdOf } from "../../../src/core/engine/run/call-names.ts";
import { LiveRun } from "../../../src/core/engine/run/live-run.ts";
import { RunClient } from "../../../src/core/engine/run/run-client.ts";
import type { AssistantMessage, Message, ToolMessage, Turn } from "../../../src/core/turn.ts";
import { aTurn } from "../support/turns.ts";

const KIB = 1024;
const LIMITS: ParkingLimits = {
  ttlMs: 1000,
  pausedMs: 5000,
  runsPerPrincipal: 3,
  runs: 5,
  bytesPerPrincipal: 1024 * KIB,
  bytes: 2048 * KIB,
};
const asked: Message = { role: "user", content: [{ type: "text", text: "go" }] };
const turnOf = (messages: readonly Message[], id = "p1") => aTurn({ messages, principal: { id, token: undefined } });
const tools = (...names: readonly string[]) =>
  names.map((name) => ({ name, description: "", schema: { type: "object" } }));
const theTool = (name: string) => ({ type: "tool", name }) as const;
const requestOf = (requestId = "r") => ({ requestId, signal: new AbortController().signal });

/** A run that waits for two results, and notes what becomes of it. */
function waiting() {
  let cancelled = 0;
  const run: Run = {
    submitResults: () => true,
    cancel: () => {
      cancelled++;
    },
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  };
  const client = new RunClient({});
  const live = new LiveRun(run, new CallNames(), client);
  const calls = live.rename(["a", "b"].map((id) => ({ type: "tool-call", id, name: "t", args: {} })));
  const answer: AssistantMessage = {
    role: "assistant",
    content: calls.flatMap((call) => (call.type === "tool-call" ? [call] : [])),
  };
  const results = calls.map((call): ToolMessage => {
    const callId = call.type === "tool-call" ? call.id : "";
    return { role: "tool", callId, content: [{ type: "text", text: "r" }], isError: false };
  });
  return { live, answer, results, cancelled: () => cancelled, lose: client.onLost };
}

/** A parking whose call log is kept, as `event tool reason` of each first call. */
function setUp(limits: Partial<ParkingLimits> = {}) {
  const entries: CallEntry[] = [];
  const parking = new Parking({ ...LIMITS, ...limits }, (entry) => entries.push(entry));
  const told = () =>
    entries
      .filter(({ callId }) => callId.endsWith("_0"))
      .map(({ type, reason }) => [type, reason ?? ""].join(" ").trim());
  return { parking, entries, told };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("parked runs", () => {
  it("are found by the results of their calls, once, in any order", () => {
    const { parking, told } = setUp();
    const { live, answer, results } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf());
    const followUp = turnOf([asked, answer, ...results.toReversed()]);
    expect(parking.take(followUp, requestOf())).toMatchObject({ type: "run", live });
    expect(parking.take(followUp, requestOf())).toEqual({ type: "gone", reason: "repeated" });
    expect(told()).toEqual(["asked", "answered"]);
  });

  it("are dropped by their id, for the principal that is named", () => {
    const { parking } = setUp();
    const { live, answer, cancelled } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf());
    expect(parking.drop(live.id, "stranger")).toBe(false);
    expect(cancelled()).toBe(0);
    expect(parking.drop(live.id, "p1")).toBe(true);
    expect(parking.drop(live.id, "p1")).toBe(false);
  });

  it("are unknown to everybody else, and stay where they are (SEC-32)", () => {
    const { parking } = setUp();
    const { live, answer, results, cancelled } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf());
    const foreign = turnOf([asked, answer, ...results], "stranger");
    expect(parking.take(foreign, requestOf())).toEqual({ type: "gone", reason: "unknown" });
    expect([parking.size, cancelled()]).toEqual([1, 0]);
    expect(parking.take(turnOf([asked, answer, ...results]), requestOf())).toMatchObject({ type: "run", live });
    expect(parking.take(foreign, requestOf())).toEqual({ type: "gone", reason: "unknown" });
  });

  it("are given up if a limit refuses their follow-up, and kept for so long if it is to pause them", () => {
    const { parking, told } = setUp();
    const [ended, paused] = [waiting(), waiting()];
    const followUp = ({ answer, results }: typeof ended) => turnOf([asked, answer, ...results]);
    for (const { live, answer } of [ended, paused]) parking.park(live, turnOf([asked]), answer, requestOf());
    parking.refuse(turnOf([asked, ended.answer, ...ended.results], "stranger"), false);
    expect(ended.cancelled()).toBe(0);
    parking.refuse(followUp(ended), false);
    expect([ended.cancelled(), parking.size]).toEqual([1, 1]);
    vi.advanceTimersByTime(999);
    parking.refuse(followUp(paused), true);
    vi.advanceTimersByTime(4999);
    // Asking again does not give it more time.
    parking.refuse(followUp(paused), true);
    expect(paused.cancelled()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(paused.cancelled()).toBe(1);
    expect(told()).toEqual(["asked", "asked", "lost limited", "lost expired"]);
  });

  it.each<[string, string, (parts: ReturnType<typeof waiting>) => readonly Message[]]>([
    ["another history", "edited", ({ answer, results }) => [{ ...asked, content: [] }, answer, ...results]],
    ["a missing result", "incomplete", ({ answer, results }) => [asked, answer, ...results.slice(0, 1)]],
  ])("are given up by %s of their owner", (_, reason, messages) => {
    const { parking, told } = setUp();
    const parts = waiting();
    parking.park(parts.live, turnOf([asked]), parts.answer, requestOf());
    expect(parking.take(turnOf(messages(parts)), requestOf())).toEqual({ type: "gone", reason });
    expect([parking.size, parts.cancelled()]).toEqual([0, 1]);
    expect(told()).toEqual(["asked", `lost ${reason}`]);
  });

  it.each<[string, Partial<Turn>, Partial<Turn>, "run" | "retooled" | "redirected"]>([
    ["the same tools", { tools: tools("a", "b") }, { tools: tools("b", "a") }, "run"],
    ["fewer tools", { tools: tools("a", "b") }, { tools: tools("a") }, "retooled"],
    ["no tools", { tools: tools("a") }, { tools: [] }, "retooled"],
    ["tools that they do not know", { tools: tools("search") }, { tools: tools("search", "found") }, "retooled"],
    ["no tool any more", { tools: tools("a") }, { tools: tools("a"), toolChoice: { type: "none" } }, "retooled"],
    [
      "one of their tools",
      { tools: tools("a", "b") },
      { tools: tools("a", "b"), toolChoice: theTool("a") },
      "retooled",
    ],
    [
      "more than the one tool",
      { tools: tools("a", "b"), toolChoice: theTool("a") },
      { tools: tools("a", "b") },
      "retooled",
    ],
    [
      "that tool again",
      { tools: tools("a", "b"), toolChoice: theTool("a") },
      { tools: tools("a", "b"), toolChoice: theTool("a") },
      "run",
    ],
    ["any tool at first", { tools: tools("a"), toolChoice: { type: "required" } }, { tools: tools("a") }, "run"],
    ["one call at a time", {}, { allowsParallelCalls: false }, "retooled"],
    ["several calls at once", { allowsParallelCalls: false }, {}, "run"],
    ["another model", {}, { model: { id: "other", effort: undefined } }, "redirected"],
    ["another effort", {}, { model: { id: "m", effort: "low" } }, "run"],
    ["other instructions", { system: "Be brief." }, { system: "Be kind." }, "redirected"],
    ["longer instructions", { system: "Be brief." }, { system: "Be brief. Be kind." }, "redirected"],
    ["one more instruction", { system: "Be brief." }, { system: "Be brief.\n\nBe kind." }, "run"],
    ["one less", { system: "Be brief.\n\nBe kind." }, { system: "Be brief." }, "run"],
    ["none", { system: "Be brief." }, { system: "" }, "run"],
  ])("asked to go on with %s", (_, before, after, outcome) => {
    const { parking } = setUp();
    const { live, answer, results, cancelled } = waiting();
    parking.park(live, { ...turnOf([asked]), ...before }, answer, requestOf());
    const found = parking.take({ ...turnOf([asked, answer, ...results]), ...after }, requestOf());
    expect([found?.type === "gone" ? found.reason : found?.type, cancelled()]).toEqual([
      outcome,
      outcome === "run" ? 0 : 1,
    ]);
  });

  it.each([
    ["", "Be brief.", "Be brief."],
    ["Be brief.", "Be brief.\n\nBe kind.\n\nBe quick.", "Be kind.\n\nBe quick."],
    ["Be brief.", "Be brief.\n\n<system-reminder>\nBe kind.\n</system-reminder>", "Be kind."],
    ["Be brief.\n\nBe kind.", "Be brief.", undefined],
    ["Be brief.", "Be brief.", undefined],
  ])("that began with %j hear of the instructions %j with the last result: %j", (before, after, news) => {
    const { parking } = setUp();
    const { live, answer, results } = waiting();
    parking.park(live, { ...turnOf([asked]), system: before }, answer, requestOf());
    const found = parking.take({ ...turnOf([asked, answer, ...results]), system: after }, requestOf());
    const told = found?.type === "run" ? found.results : [];
    expect(told.slice(0, -1)).toEqual(results.slice(0, -1));
    const more = told.at(-1)?.content.slice(results.at(-1)?.content.length);
    expect(more).toEqual(
      news === undefined ? [] : [{ type: "text", text: `\n\n<system-reminder>\n${news}\n</system-reminder>` }],
    );
  });

  it("are given up when their upstream ends, and when their client has not heard of the calls", () => {
    const { parking, told } = setUp();
    const [dying, unheard, late] = [waiting(), waiting(), waiting()];
    const gone = new AbortController();
    parking.park(dying.live, turnOf([asked]), dying.answer, requestOf());
    parking.park(unheard.live, turnOf([asked]), unheard.answer, { requestId: "r", signal: gone.signal });
    dying.lose();
    gone.abort();
    late.lose();
    parking.park(late.live, turnOf([asked]), late.answer, requestOf());
    expect([parking.size, vi.getTimerCount()]).toEqual([0, 0]);
    expect(told()).toEqual(["asked", "asked", "lost died", "lost unheard", "asked", "lost died"]);
  });

  it("are cancelled when their time is up, and when others need the room, oldest first (REL-30)", () => {
    const { parking, told } = setUp();
    const all = Array.from({ length: 7 }, waiting);
    all.forEach(({ live, answer }, n) => {
      parking.park(live, turnOf([asked], n < 4 ? "p1" : "p2"), answer, requestOf());
    });
    expect(all.map(({ cancelled }) => cancelled())).toEqual([1, 1, 0, 0, 0, 0, 0]);
    vi.advanceTimersByTime(LIMITS.ttlMs);
    expect([parking.size, all.every(({ cancelled }) => cancelled() === 1)]).toEqual([0, true]);
    expect(told().filter((entry) => entry === "lost evicted")).toHaveLength(2);
    expect(told().filter((entry) => entry === "lost expired")).toHaveLength(5);
  });

  it("of one principal make no room for those of another that holds more (SEC-36)", () => {
    const { parking } = setUp({ runsPerPrincipal: 4, runs: 5 });
    const park = (principal: string) => {
      const { live, answer, cancelled } = waiting();
      parking.park(live, turnOf([asked], principal), answer, requestOf());
      return cancelled;
    };
    const small = park("small");
    const greedy = Array.from({ length: 4 }, () => park("greedy"));
    const third = park("third");
    expect([small(), third()]).toEqual([0, 0]);
    expect(greedy.map((cancelled) => cancelled())).toEqual([1, 0, 0, 0]);
  });

  it("hold so many bytes for one principal, and so many in all, oldest first", () => {
    const { parking, told } = setUp({
      runs: 100,
      runsPerPrincipal: 100,
      bytesPerPrincipal: 700 * KIB,
      bytes: 1000 * KIB,
    });
    const large: Message = {
      role: "user",
      content: [{ type: "image", mediaType: "image/png", data: Buffer.alloc(128 * KIB) }],
    };
    const park = (owner: string, ...messages: Message[]) => {
      const { live, answer, cancelled } = waiting();
      parking.park(live, turnOf(messages, owner), answer, requestOf());
      return cancelled;
    };
    const all = ["p1", "p1", "p1", "p2", "p2"].map((owner) => park(owner, large));
    // Each holds about 290 KiB: two for one principal, three in all.
    expect(all.map((cancelled) => cancelled())).toEqual([1, 1, 0, 0, 0]);
    expect(park("p3", large, large, large)()).toBe(1);
    expect(parking.size).toBe(3);
    expect(told().at(-1)).toBe("lost evicted");
  });

  it("are not kept at all where none shall be", () => {
    const { parking, told } = setUp({ runs: 0 });
    const { live, answer, cancelled } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf());
    expect([parking.size, cancelled(), vi.getTimerCount()]).toEqual([0, 1, 0]);
    expect(told()).toEqual(["asked", "lost evicted"]);
  });

  it("are given up when something new is asked right after the results, and the call log says so", () => {
    const { parking, told } = setUp();
    const { live, answer, results } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf());
    const steered = turnOf([asked, answer, ...results, asked]);
    expect(parking.take(steered, requestOf())).toEqual({ type: "gone", reason: "steered" });
    parking.replay(steered, requestOf(), "steered");
    expect(told()).toEqual(["asked", "lost steered", "replayed steered"]);
  });

  it("leave a call log without arguments, results or questions (REL-30)", () => {
    const { parking, entries } = setUp();
    const { live, answer, results } = waiting();
    parking.park(live, turnOf([asked]), answer, requestOf("first"));
    vi.advanceTimersByTime(LIMITS.ttlMs - 1);
    const followUp = turnOf([asked, answer, ...results]);
    parking.take(followUp, requestOf("second"));
    parking.replay(followUp, requestOf("second"), "stalled");
    const result = { isError: false, bytes: 1 };
    const known = { callId: `${live.id}__call_1`, tool: "t", principalId: "p1" };
    expect(entries.filter(({ callId }) => callId === known.callId)).toEqual([
      { ...known, type: "asked", requestId: "first" },
      { ...known, type: "answered", requestId: "second", askedIn: "first", result, waitedMs: LIMITS.ttlMs - 1 },
      { ...known, type: "replayed", requestId: "second", result, reason: "stalled" },
    ]);
  });
});

it("call ids are short, unguessable, and lead to their session", () => {
  const { live, results } = waiting();
  for (const { callId } of results) {
    expect(callId).toMatch(/^sess_[\w-]{22}__call_\d+$/);
    expect(callId.length).toBeLessThanOrEqual(40);
    expect(runIdOf(callId)).toBe(live.id);
  }
  for (const foreign of ["call_1", "sess_x__call_1", `${live.id}__call_`, ""]) expect(runIdOf(foreign)).toBeUndefined();
});
