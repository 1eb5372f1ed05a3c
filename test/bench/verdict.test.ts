import { describe, expect, it } from "vitest";
import { judge } from "../../bench/drift/verdict.ts";

const OTHER = [100, 102, 98, 101, 99, 103, 97];
const scaled = (by: number) => OTHER.map((value) => value * by);

describe("judge", () => {
  it("sees a side that is clearly above or below the other", () => {
    expect(judge(scaled(1.2), OTHER)).toBe("worse");
    expect(judge(scaled(0.8), OTHER)).toBe("better");
  });

  it("sees nothing between rounds of the same code", () => {
    expect(judge(OTHER.toReversed(), OTHER)).toBe("within noise");
    expect(judge(OTHER, OTHER)).toBe("within noise");
  });

  it("accepts one round in which the order is reversed, and not two", () => {
    const [, , ...rest] = scaled(1.2);
    expect(judge([50, 120, ...rest], OTHER)).toBe("worse");
    expect(judge([50, 50, ...rest], OTHER)).toBe("within noise");
  });

  it("wants the medians further apart than the rounds of either side, without the smallest and the largest", () => {
    const wide = [80, 90, 95, 100, 105, 110, 120];
    const above = (by: number) => wide.map((value) => value + by);
    // The middle rounds are 20 apart.
    expect(judge(above(20), wide)).toBe("within noise");
    expect(judge(above(21), wide)).toBe("worse");
    expect(judge(above(-21), wide)).toBe("better");
  });

  it("never takes a difference of 3 % for more than noise", () => {
    const steady = OTHER.map(() => 100);
    expect(
      judge(
        OTHER.map(() => 103),
        steady,
      ),
    ).toBe("within noise");
    expect(
      judge(
        OTHER.map(() => 103.1),
        steady,
      ),
    ).toBe("worse");
    expect(
      judge(
        OTHER.map(() => 96.9),
        steady,
      ),
    ).toBe("better");
  });
});
