import { describe, expect, it } from "vitest";
import { historyKeys } from "../../src/core/history/history-key.ts";
import type { Message, Turn } from "../../src/core/turn.ts";
import { CacheWatch } from "../../src/usage/cache-watch.ts";
import type { RequestRecord } from "../../src/usage/record/records.ts";
import { aTurn } from "../core/support/turns.ts";
import { aRecord } from "./support.ts";

const MINUTE = 60_000;
const said = (role: "user" | "assistant", text: string): Message => ({ role, content: [{ type: "text", text }] });
const FIRST = [said("user", "one")];
const SECOND = [...FIRST, said("assistant", "two"), said("user", "three")];
const TOOL = { name: "look", description: "", schema: {} };

const used = (inputTokens: number, cachedTokens: number): Partial<RequestRecord> => ({
  usage: { inputTokens, outputTokens: 10, cachedTokens, cacheWrittenTokens: 0, reasoningTokens: 0, isEstimate: false },
});

const addCache = (watch: CacheWatch, record: RequestRecord, turn: Turn) =>
  watch.addCache(record, turn, historyKeys(turn.messages));

/** The cache truth of a second turn that read nothing from the cache, unless the record says otherwise. */
function second(turn: Partial<Turn> = {}, record: Partial<RequestRecord> = {}) {
  const watch = new CacheWatch();
  const { startedAt } = aRecord();
  addCache(watch, aRecord(used(1000, 0)), aTurn({ messages: FIRST, system: "s" }));
  const later = aRecord({ ...used(1200, 0), startedAt: startedAt + MINUTE, ...record });
  return addCache(watch, later, aTurn({ messages: SECOND, system: "s", ...turn })).cache;
}

describe("the cache truth of a turn", () => {
  it("has nothing to gain in the first turn", () => {
    const { cache } = addCache(new CacheWatch(), aRecord(), aTurn());
    expect(cache).toEqual({ possibleTokens: 0, actualTokens: 60, reason: undefined });
  });

  it("has no reason where it was a hit", () => {
    expect(second({}, used(1200, 1008))).toEqual({ possibleTokens: 1010, actualTokens: 1008, reason: undefined });
  });

  it.each<[string, Partial<Turn>, Partial<RequestRecord>]>([
    ["model", {}, { modelServed: "another" }],
    ["tools", { tools: [TOOL] }, {}],
    ["instructions", { system: "other" }, {}],
    ["edited", { messages: [said("user", "ONE"), ...SECOND.slice(1)] }, {}],
    ["expired", {}, { startedAt: aRecord().startedAt + 10 * MINUTE }],
    ["new-run", {}, { run: { type: "replayed", reason: "expired" } }],
    ["unknown", {}, {}],
  ])("says %s where that is why it was none", (reason, turn, record) => {
    expect(second(turn, record)).toEqual({ possibleTokens: 1010, actualTokens: 0, reason });
  });

  it("has a window of five minutes, from the end of the last call to the start of the next", () => {
    const { startedAt, durationMs } = aRecord();
    const end = startedAt + durationMs + 5 * MINUTE;
    expect(second({}, { startedAt: end })?.reason).toBe("unknown");
    expect(second({}, { startedAt: end + 1 })?.reason).toBe("expired");
  });

  it("is the one of the call that ended last, and kept for so many conversations", () => {
    const watch = new CacheWatch();
    const turn = aTurn({ messages: FIRST });
    const possible = (conversation: string) =>
      addCache(watch, aRecord({ ...used(1000, 0), conversation }), turn).cache?.possibleTokens;
    const names = Array.from({ length: 10_000 }, (_, n) => `c${n}`);
    for (const name of names) expect(possible(name)).toBe(0);
    expect(possible("c0")).toBe(1000);
    expect(possible("one more")).toBe(0);
    expect([possible("c0"), possible("c1")]).toEqual([1000, 0]);
  });

  it("is not known where the tokens are an estimate, nor shared with another conversation", () => {
    expect(second({}, { usageOrigin: "estimate" })).toBeUndefined();
    expect(second({}, { conversation: "another" })?.possibleTokens).toBe(0);
  });
});
