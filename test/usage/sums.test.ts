import { join } from "node:path";
import { expect, it } from "vitest";
import { startSim } from "../../src/sim/server.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";
import { compareCharges } from "./support/compare-charges.ts";
import { converse, type FinishedRequest, numbers } from "./support/mixed-conversations.ts";

/** `npm run test:usage` has the same with many more, and with kills. */
const CONVERSATIONS = 60;
const AT_ONCE = 5;

it("the sums of the record are what the simulator charged, with aborts, faults, failures and retries", async () => {
  const sim = await startSim();
  try {
    const gateway = await openOwnGateway({ upstream: sim.url });
    const finished: FinishedRequest[] = [];
    const onFinished = (request: FinishedRequest) => finished.push(request);
    const target = { url: () => gateway.url, whenUp: async () => {}, onFinished };
    const random = numbers(20_261_116);
    for (let begun = 0; begun < CONVERSATIONS; begun += AT_ONCE) {
      const next = () => random.next().value;
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => converse(begun + index, next, target)));
    }
    await gateway.restart();
    const found = await compareCharges(join(gateway.home, "usage.db"), sim.url);
    expect(found).toMatchObject({ wrong: [], missing: [], unequal: [] });
    // The upstream says nothing at the end of a run that it fails, so only its charges tell what that has cost.
    expect(found.settled).toEqual({ failed: expect.any(Number) });
    expect(found.record).toEqual(found.charged);
    expect(found.charged.input).toBeGreaterThan(50_000);
    for (const { id } of finished) expect(found.requestIds).toContain(id);
  } finally {
    await sim.close();
  }
});
