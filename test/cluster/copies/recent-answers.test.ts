import { afterEach, describe, expect, it, vi } from "vitest";
import type { HubCopy } from "../../../src/cluster/copies/hub-copy.ts";
import { RecentAnswers } from "../../../src/cluster/copies/recent-answers.ts";
import { formatRound } from "../../../src/core/hub/round-json.ts";

afterEach(() => vi.useRealTimers());

const place = (id: string, askedKey = "a", principalId = "p") => ({ principalId, id, askedKey });
const round = (id: string, position: number, text: string, by = "aaaa"): HubCopy => ({
  type: "round",
  place: place(id),
  position,
  round: formatRound({ said: { role: "assistant", content: [{ type: "text", text }] }, results: [] }),
  by,
});
const textsOf = (recent: RecentAnswers) =>
  recent.askedBy("p", "a").map(({ rounds }) => rounds.map(({ said }) => said.content.map((part) => part)));

describe("the recent answers of all hubs", () => {
  it("are found by their request and by their history, each principal its own", () => {
    const recent = new RecentAnswers();
    recent.put(round("i", 0, "hm"), "aaaa");
    const end = { text: "end", reason: "stop" } as const;
    recent.put({ type: "end", place: place("i"), end, history: "h", by: "aaaa" }, "aaaa");
    recent.put({ type: "settled", place: place("i"), by: "aaaa" }, "aaaa");
    expect(recent.askedBy("p", "a")).toMatchObject([{ id: "i", askedKey: "a", end, isSettled: true }]);
    expect(recent.answered("p", "h")?.id).toBe("i");
    expect(recent.askedBy("q", "a")).toEqual([]);
    expect(recent.answered("q", "h")).toBeUndefined();
  });

  it("are kept apart if two principals have the same id, which clients may choose (SEC-32)", () => {
    const recent = new RecentAnswers();
    const of = (principalId: string, position: number, by: string): HubCopy => {
      const copy = round("i", position, `${principalId} ${position}`, by);
      return { ...copy, place: place("i", "a", principalId) };
    };
    for (const position of [0, 1]) recent.put(of("p", position, "aaaa"), "aaaa");
    recent.put(of("q", 0, "bbbb"), "bbbb");
    expect(textsOf(recent)).toEqual([[[{ type: "text", text: "p 0" }], [{ type: "text", text: "p 1" }]]]);
    expect(recent.askedBy("q", "a")).toMatchObject([{ rounds: [{ said: { content: [{ text: "q 0" }] } }] }]);
    expect([recent.makerOf("p", "i"), recent.makerOf("q", "i")]).toEqual(["aaaa", "bbbb"]);
  });

  it("are as old for a gateway that is told later", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const [first, later] = [new RecentAnswers(), new RecentAnswers()];
    first.put(round("i", 0, "hm"), "aaaa");
    vi.advanceTimersByTime(14 * 60_000);
    for (const copy of first.list()) later.put(copy, "bbbb");
    expect(later.askedBy("p", "a")).toMatchObject([{ ageMs: 14 * 60_000 }]);
    vi.advanceTimersByTime(60_001);
    expect(later.askedBy("p", "a")).toEqual([]);
  });

  it("have the last state of each round, and count only with all rounds", () => {
    const recent = new RecentAnswers();
    recent.put(round("i", 1, "second"), "aaaa");
    expect(recent.askedBy("p", "a")).toEqual([]);
    recent.put(round("i", 0, "first"), "aaaa");
    recent.put(round("i", 0, "first again"), "aaaa");
    expect(textsOf(recent)).toEqual([[[{ type: "text", text: "first again" }], [{ type: "text", text: "second" }]]]);
  });

  it("are not replaced by what others tell of them", () => {
    const recent = new RecentAnswers();
    recent.put(round("i", 0, "old"), "bbbb");
    recent.put(round("i", 0, "new"), "aaaa");
    recent.put(round("i", 0, "old"), "bbbb");
    expect(textsOf(recent)).toEqual([[[{ type: "text", text: "new" }]]]);
    recent.put(round("i", 0, "continued", "bbbb"), "bbbb");
    expect(recent.makerOf("p", "i")).toBe("bbbb");
  });

  it("have no maker once it has left them", () => {
    const recent = new RecentAnswers();
    recent.put({ type: "left", place: place("unknown"), by: "aaaa" }, "aaaa");
    expect(recent.size).toBe(0);
    recent.put(round("i", 0, "hm"), "aaaa");
    expect(recent.makerOf("p", "i")).toBe("aaaa");
    recent.put({ type: "left", place: place("i"), by: "bbbb" }, "bbbb");
    expect(recent.makerOf("p", "i")).toBe("aaaa");
    recent.put({ type: "left", place: place("i"), by: "aaaa" }, "aaaa");
    expect(recent.makerOf("p", "i")).toBeUndefined();
  });

  it("are bounded in number, bytes and time (SEC-36)", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const recent = new RecentAnswers();
    for (let at = 0; at < 6000; at++) recent.put(round(`few ${at}`, 0, "hm"), "aaaa");
    expect(recent.size).toBe(5000);
    for (let at = 0; at < 5; at++) recent.put(round(`large ${at}`, 0, "x".repeat(8 * 1024 * 1024)), "aaaa");
    expect(recent.size).toBe(3);
    // What a round replaces is not counted any more.
    for (let time = 0; time < 10; time++) recent.put(round("large 4", 0, "x".repeat(8 * 1024 * 1024)), "aaaa");
    expect(recent.size).toBe(3);
    vi.advanceTimersByTime(15 * 60_000 + 1);
    expect(recent.list()).toEqual([]);
    expect(recent.askedBy("p", "a")).toEqual([]);
  });
});
