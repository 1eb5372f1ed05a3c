import { describe, expect, it } from "vitest";
import { ACCIDENTS, setUpFaults } from "./support/fault-stage.ts";

describe.each(["h2", "h1"] as const)("a task of five tools over %s", (hostConfig) => {
  it.each(ACCIDENTS)("comes to its end at whichever frame %s (REL-05, 33, 40)", async (accident) => {
    const { attempt, expectOrder } = await setUpFaults(hostConfig);
    const wrongs: string[] = [];
    let frames = 0;
    for (let n = 1; ; n++) {
      const report = await attempt(accident, n);
      if (!report) break;
      frames = n;
      wrongs.push(...report.wrongs.map((wrong) => `${n}: ${wrong}`));
    }
    console.info(`${hostConfig}, ${accident}: at each of ${frames} frames`);
    expect(wrongs).toEqual([]);
    expect(frames).toBeGreaterThan(20);
    await expectOrder();
  });
});
