import { describe, expect, it } from "vitest";
import { findOverruns, lower } from "../../scripts/within-budget.ts";

describe("findOverruns", () => {
  it("finds nothing where counts are at their figures or below", () => {
    expect(findOverruns({ lines: 10, files: 2 }, { lines: 10, files: 3 })).toEqual([]);
  });

  it("names a count that is above its figure, both numbers, and what to do", () => {
    expect(findOverruns({ lines: 11, files: 2 }, { lines: 10, files: 3 })).toEqual([
      expect.stringMatching(/^lines: now 11, allowed 10\. .*scripts\/budget\.json.*body of the commit/),
    ]);
  });

  it("names a count without a figure, and a figure without a count", () => {
    expect(findOverruns({ lines: 1 }, {})).toEqual([expect.stringContaining("does not allow lines")]);
    expect(findOverruns({}, { lines: 1 })).toEqual([expect.stringContaining("allows lines, which nothing counts")]);
  });
});

it("lowers figures to today's counts, and raises none", () => {
  expect(lower({ lines: 9, files: 4, words: 1 }, { lines: 10, files: 3, gone: 5 })).toEqual({
    lines: 9,
    files: 3,
    words: 1,
  });
});
