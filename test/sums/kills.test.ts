import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { compareCharges } from "../usage/support/compare-charges.ts";
import { converse, type FinishedRequest, numbers } from "../usage/support/mixed-conversations.ts";

const CONVERSATIONS = Number(process.env["USAGE_CONVERSATIONS"] ?? 1000);
const KILLS = 10;
const AT_ONCE = 8;
const PAUSE_MS = 250;
/** Records are written within a second. The rest is for a machine that is busy. */
const MAX_LOSS_MS = 2000;

it(`the record loses at most the last second, and counts nothing twice: ${CONVERSATIONS} conversations, ${KILLS} kills`, async () => {
  const { simUrl, home, start } = await setUpGateway();
  let gateway = await start();
  const finished: FinishedRequest[] = [];
  const kills: number[] = [];
  let up: Promise<unknown> = Promise.resolve();
  const onFinished = (request: FinishedRequest) => finished.push(request);
  const target = { url: () => gateway.url, whenUp: () => up, onFinished };
  const random = numbers(20_261_117);
  const next = () => random.next().value;
  let begun = 0;
  let done = 0;
  const work = async () => {
    while (begun < CONVERSATIONS) {
      await converse(begun++, next, target);
      done++;
      // Without it all would be over within the second that a kill may lose.
      await sleep(PAUSE_MS);
    }
  };
  /** Kills the gateway while conversations are under way, each time after an equal part of them. */
  const kill = async () => {
    for (let round = 1; round <= KILLS; round++) {
      while (done < (CONVERSATIONS * round) / (KILLS + 1)) await sleep(50);
      kills.push(Date.now());
      up = gateway.stop("SIGKILL").then(async () => {
        gateway = await start();
      });
      await up;
    }
  };
  await Promise.all([kill(), ...Array.from({ length: AT_ONCE }, work)]);
  await gateway.stop();

  const found = await compareCharges(join(home, "usage.db"), simUrl);
  const lost = finished.filter(({ id }) => !found.requestIds.has(id));
  const losses = lost.map(({ at }) => Math.min(...kills.map((killedAt) => killedAt - at).filter((ms) => ms > -500)));
  console.info(
    JSON.stringify({
      requests: finished.length,
      lost: lost.length,
      oldestLossMs: Math.max(0, ...losses),
      runs: found.runs,
      settled: found.settled,
      missingCharges: found.missing.length,
      charged: found.charged,
    }),
  );
  // Runs have exactly the figures that were charged: nothing is counted twice, and nothing by half.
  expect(found.wrong).toEqual([]);
  expect(found.unequal).toEqual([]);
  expect(found.record).toEqual(found.charged);
  expect(found.runs).toBeGreaterThan(CONVERSATIONS / 2);
  // A kill loses what was under way, and what had come to its end in the last second.
  for (const ms of losses) expect(ms).toBeLessThan(MAX_LOSS_MS);
  const underWay = KILLS * AT_ONCE;
  expect(found.missing.length).toBeLessThanOrEqual(lost.length + underWay);
  // A kill leaves an estimate of runs that waited for results, or that were cancelled just before.
  const { failed, parked = 0, cancelled = 0, ...others } = found.settled;
  expect(failed).toBeGreaterThan(0);
  expect(cancelled).toBeLessThanOrEqual(underWay);
  expect(parked).toBeLessThanOrEqual(CONVERSATIONS);
  expect(others).toEqual({});
});
