import { afterEach, describe, expect, it } from "vitest";
import { callIdOf, newRunId } from "../../src/core/engine/run/call-names.ts";
import { LimitReached } from "../../src/core/limits/limit-reached.ts";
import { aTurn } from "../core/support/turns.ts";
import { joinWith, openBareCluster } from "./support/bare-cluster.ts";
import { hasRedis, startRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** Both ends of a connection are in this process. */
const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

describe.skipIf(!hasRedis)("follow-ups that a limit refuses at another gateway", () => {
  it("are told to the home node, and leave no connection behind (SEC-36)", async () => {
    const redis = await startRedis(defer);
    const [home, other] = [await openBareCluster(redis, "home", defer), await openBareCluster(redis, "other", defer)];
    let refused = 0;
    await joinWith(home, { refuse: () => refused++ });
    const engine = await joinWith(other, { refuse: () => expect.unreachable() });
    const observer = {
      phase: () => {},
      served: () => {
        throw new LimitReached("enough", false, {});
      },
    };
    const refuse = async () => {
      const callId = callIdOf(newRunId(home.tag), 0);
      const turn = aTurn({ messages: [{ role: "tool", callId, content: [], isError: false }] });
      const context = { requestId: "r", signal: new AbortController().signal, observer };
      const answer = engine.run(turn, context)[Symbol.asyncIterator]();
      await expect(answer.next()).rejects.toThrow("enough");
    };
    await refuse();
    await expect.poll(() => refused).toBe(1);
    const before = countSockets();
    for (let count = 2; count <= 20; count++) {
      await refuse();
      await expect.poll(() => refused, { interval: 5 }).toBe(count);
    }
    expect(countSockets() - before).toBeLessThan(10);
    // A home node that stops waits for no exchange.
    await home.finish(600_000);
  });
});
