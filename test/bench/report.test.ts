import { expect, it } from "vitest";
import { compareRounds, formatTable } from "../../bench/drift/report.ts";

const rounds = {
  name: "CPU",
  unit: "µs",
  floor: [1, 2, 1, 1, 1],
  other: [2, 4, 2, 2, 2],
  this: [4, 4, 4, 4, 4],
};

it("compares rounds by the median of their ratios, not by the ratio of medians", () => {
  expect(compareRounds({ ...rounds, other: [2, 4, 8, 4, 4] })).toMatchObject({
    floor: 1,
    other: 4,
    this: 4,
    ratio: 1,
    range: "0.50..2.00",
    toFloor: 4,
    verdict: "within noise",
  });
});

it("has no ratio to a floor that cannot do it", () => {
  expect(compareRounds({ ...rounds, floor: [] })).toMatchObject({ floor: undefined, toFloor: undefined, ratio: 2 });
});

it("prints one line for each figure", () => {
  const [head, first, second] = formatTable([
    compareRounds(rounds),
    compareRounds({ ...rounds, name: "memory of a run", unit: "KiB", floor: [] }),
  ]).split("\n");
  expect(head?.trim().split(/\s+/)).toEqual(["floor", "other", "this", "this/other", "range", "this/floor"]);
  expect(first?.split(/\s{2,}/)).toEqual(["CPU", "µs", "1.00", "2.00", "4.00", "2.00", "1.00..2.00", "4.00", "worse"]);
  expect(second).toContain("–");
});
