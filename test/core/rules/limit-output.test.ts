import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import { OutputLimit } from "../../../src/core/rules/limit-output.ts";
import type { JsonObject } from "../../../src/core/turn.ts";
import { done, text, textIn, thinking, usage } from "../support/turns.ts";

interface Limits {
  readonly stop?: readonly string[];
  readonly maxOutputTokens?: number;
}

function limit(limits: Limits, ...batches: (readonly TurnEvent[])[]): TurnEvent[] {
  const rule = new OutputLimit({ stop: limits.stop ?? [], maxOutputTokens: limits.maxOutputTokens });
  return batches.flatMap((batch) => rule.step(batch));
}

/** A call of the tool `tt`. */
const whole = (id: string, args: JsonObject = {}): TurnEvent => ({ type: "tool-call", id, name: "tt", args });
const start = (id: string): TurnEvent => ({ type: "tool-call-start", id, name: "tt" });
const piece = (id: string, json: string): TurnEvent => ({ type: "tool-call-delta", id, json });

const textEvents = (pieces: readonly string[]) => pieces.map((piece) => [text(piece)]);

describe("stop sequences", () => {
  it.each<[string, readonly string[], readonly string[], string, string | undefined]>([
    ["none in the text", ["END"], ["all", " of it"], "all of it", undefined],
    ["one in the middle", ["END"], ["a END b"], "a ", "END"],
    ["one at the start", ["END"], ["END b"], "", "END"],
    ["one over three pieces", ["STOP"], ["a S", "TO", "P b"], "a ", "STOP"],
    ["a beginning that comes to nothing", ["STOP"], ["a STO", "RM"], "a STORM", undefined],
    ["a beginning at the end of the answer", ["STOP"], ["a STO"], "a STO", undefined],
    ["the first to be complete, not the first to begin", ["xabc", "ab"], ["xabc"], "x", "ab"],
    ["of two that end together, the longer", ["b", "ab"], ["1ab2"], "1", "ab"],
    ["one that overlaps itself", ["aab"], ["aaa", "ab"], "aa", "aab"],
    ["a newline", ["\n\n"], ["a\n", "\nb"], "a", "\n\n"],
  ])("%s", (_, stop, pieces, expected, stopSequence) => {
    const out = limit({ stop }, ...textEvents(pieces), [done("content-filter")]);
    expect(textIn(out)).toBe(expected);
    expect(out.at(-1)).toEqual(stopSequence === undefined ? done("content-filter") : { ...done(), stopSequence });
    expect(out.filter((event) => event.type === "done")).toHaveLength(1);
  });

  it("holds back no more than may be a stop sequence", () => {
    const rule = new OutputLimit({ stop: ["###"], maxOutputTokens: undefined });
    expect(rule.step([text("abc##")])).toEqual([text("abc")]);
    expect(rule.step([text("d")])).toEqual([text("##d")]);
  });

  it("gives held text out before a tool call or more thinking, and keeps it over a notice", () => {
    const call: TurnEvent = { type: "tool-call", id: "1", name: "t", args: {} };
    expect(limit({ stop: ["##"] }, [text("a#"), call])).toEqual([text("a"), text("#"), call]);
    expect(limit({ stop: ["##"] }, [text("a#"), thinking("b")])).toEqual([text("a"), text("#"), thinking("b")]);
    expect(limit({ stop: ["##"] }, [text("a#"), usage(), text("#")])).toEqual([
      text("a"),
      usage(),
      { ...done(), stopSequence: "##" },
    ]);
  });

  it("seeks them in the text only", () => {
    expect(limit({ stop: ["x"] }, [thinking("x"), text("a"), done()])).toEqual([thinking("x"), text("a"), done()]);
  });

  it("any cut of the text gives the same answer, the one that a simple search gives", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
    const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 }), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(
        letters,
        stops,
        fc.array(fc.nat(30)),
        fc.option(fc.integer({ min: 1, max: 6 })),
        (all, stop, at, max) => {
          const limits: Limits = { stop, ...(max !== null && { maxOutputTokens: max }) };
          const out = limit(limits, ...textEvents(cut(all, at)), [done()]);
          const expected = simply(all, stop, max ?? undefined);
          expect(textIn(out)).toBe(expected.text);
          expect(out.at(-1)).toMatchObject(done(expected.reason));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("the number of tokens", () => {
  it.each<[string, number, readonly TurnEvent[], readonly TurnEvent[]]>([
    ["less than the limit", 2, [text("12345678"), done()], [text("12345678"), done()]],
    ["one character more", 2, [text("123456789"), done()], [text("12345678"), done("length")]],
    ["thinking counts", 2, [thinking("123456"), text("789"), done()], [thinking("123456"), text("78"), done("length")]],
    ["never half a character", 1, [text("abc😀"), done()], [text("abc"), done("length")]],
    ["nothing is left", 1, [text("1234"), text("5")], [text("1234"), done("length")]],
    [
      "what the upstream has counted goes before the estimate",
      6,
      [text("1"), usage({ outputTokens: 5 }), text("123456")],
      [text("1"), usage({ outputTokens: 5 }), text("1234"), done("length")],
    ],
    ["a call that fits", 4, [whole("1", { a: 1 }), done("tool-calls")], [whole("1", { a: 1 }), done("tool-calls")]],
    [
      "a call that is too long is begun, and never whole",
      3,
      [text("1234"), whole("1", { a: 1 }), done("tool-calls")],
      [text("1234"), start("1"), piece("1", '{"a":1'), done("length")],
    ],
    [
      "a call that comes in pieces",
      3,
      [start("1"), piece("1", '{"a":'), piece("1", "12"), piece("1", "34567"), piece("1", "}"), whole("1", { a: 1 })],
      [start("1"), piece("1", '{"a":'), piece("1", "12"), piece("1", "345"), done("length")],
    ],
    [
      "pieces are counted once",
      3,
      [start("1"), piece("1", '{"a":1}'), whole("1", { a: 1 }), done("tool-calls")],
      [start("1"), piece("1", '{"a":1}'), whole("1", { a: 1 }), done("tool-calls")],
    ],
    ["no room for a call", 1, [text("1234"), whole("1"), done("tool-calls")], [text("1234"), done("length")]],
  ])("%s", (_, maxOutputTokens, events, expected) => {
    expect(limit({ maxOutputTokens }, events)).toEqual(expected);
  });

  it.each<[string, readonly TurnEvent[], readonly TurnEvent[]]>([
    [
      "at the end, by a count that reaches the limit",
      [text("ab#"), usage({ outputTokens: 9 }), done()],
      [text("ab"), usage({ outputTokens: 9 }), text("#"), done()],
    ],
    [
      "with more text, which has no room",
      [text("ab#"), usage({ outputTokens: 9 }), text("c"), done()],
      [text("ab"), usage({ outputTokens: 9 }), text("#"), done("length")],
    ],
    [
      "over several counts",
      [text("ab#"), usage({ outputTokens: 1 }), text("#"), usage({ outputTokens: 2 }), text("c"), done()],
      [text("ab"), usage({ outputTokens: 1 }), usage({ outputTokens: 2 }), text("##"), done("length")],
    ],
    [
      "but no more than there was room for",
      [text("12345678#"), usage({ outputTokens: 9 }), done()],
      [text("12345678"), usage({ outputTokens: 9 }), done("length")],
    ],
  ])("text that was held back goes out as it came, before the count: %s", (_, events, expected) => {
    expect(limit({ stop: ["###"], maxOutputTokens: 2 }, events)).toEqual(expected);
  });

  it.each([
    ["at once", (calls: readonly TurnEvent[]) => [calls]],
    ["one after the other", (calls: readonly TurnEvent[]) => calls.map((call) => [call])],
  ])("several whole calls count together, %s: just enough pass, and one more does not begin", (_, batches) => {
    // Each has four characters, which count as a token.
    const calls = ["1", "2", "3", "4"].map((id) => whole(id));
    const limited = (all: readonly TurnEvent[]) =>
      limit({ maxOutputTokens: 3 }, ...batches([...all, done("tool-calls")]));
    expect(limited(calls.slice(0, 3))).toEqual([...calls.slice(0, 3), done("tool-calls")]);
    expect(limited(calls)).toEqual([...calls.slice(0, 3), done("length")]);
  });

  it("gives nothing more after its end", () => {
    const rule = new OutputLimit({ stop: [], maxOutputTokens: 1 });
    rule.step([text("12345")]);
    expect(rule.step([text("6"), done()])).toEqual([]);
  });
});

function cut(all: string, at: readonly number[]): string[] {
  const places = [...new Set([0, ...at.filter((place) => place < all.length), all.length])].sort((a, b) => a - b);
  return places.slice(1).map((place, index) => all.slice(places[index], place));
}

/** One character after the other, and nothing held back: slow, and easy to believe. */
function simply(all: string, stop: readonly string[], max: number | undefined) {
  for (let end = 1; end <= all.length; end++) {
    const ending = stop.filter((sequence) => all.slice(0, end).endsWith(sequence)).sort((a, b) => b.length - a.length);
    if (ending[0] === undefined) continue;
    const kept = all.slice(0, end - ending[0].length);
    if (max !== undefined && kept.length > max * 4) break;
    return { text: kept, reason: "stop" } as const;
  }
  if (max !== undefined && all.length > max * 4) return { text: all.slice(0, max * 4), reason: "length" } as const;
  return { text: all, reason: "stop" } as const;
}
