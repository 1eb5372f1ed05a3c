import { describe, expect, it } from "vitest";
import { setUpFaults } from "../../faults/support/fault-stage.ts";

/** A few of the frames; `npm run test:faults` takes every one. */
const FRAMES = [1, 9, 23, 40, 58, 71, 77, 83, 96, 110, 125];

describe.each(["h2", "h1"] as const)("a task of five tools over %s", (hostConfig) => {
  it("comes to its end whoever is killed on the way (REL-05, 33, 40)", async () => {
    const { attempt, expectOrder } = await setUpFaults(hostConfig);
    const wrongs: string[] = [];
    for (const accident of ["the upstream is killed", "the client is killed"] as const) {
      for (const n of FRAMES) wrongs.push(...((await attempt(accident, n))?.wrongs ?? []));
    }
    expect(wrongs).toEqual([]);
    await expectOrder();
  }, 120_000);
});
