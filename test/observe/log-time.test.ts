import { expect, it } from "vitest";
import { createLogTime } from "../../src/observe/log-time.ts";

it("says the time as a date would", () => {
  const times = [0, 7, 999, 1000, 1_794_916_800_042, 1_794_916_800_043, 1_794_916_799_999];
  const timeOf = createLogTime();
  for (const time of times) expect(timeOf(time)).toBe(`,"time":"${new Date(time).toISOString()}"`);
});
