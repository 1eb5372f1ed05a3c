import { describe, expect, it, vi } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { loadIsInSlowPool, loadPeriodUsage, loadUsageEvents } from "../../src/credentials/account-usage.ts";
import { DashboardService } from "../../src/gen/aiserver/v1/dashboard_pb.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { call as callSim } from "./endpoints/support.ts";
import { setUp, TRANSPORTS } from "./support/transports.ts";

const token = new Secret("tester");
const ALL = { sinceMs: 0, untilMs: 2 ** 42 };

async function prepare(transport: (typeof TRANSPORTS)[number]) {
  const { client, sim } = await setUp(transport, { tools: { look: () => "seen" } });
  const call = { transport: createHttp1Transport(), origin: sim.url };
  const events = async () => (await loadUsageEvents(token, ALL, call)).events;
  return { client, sim, call, events };
}

describe.each(TRANSPORTS)("what the simulator charges, over %s", (transport) => {
  it("is the usage of each turn, with the conversation of its run", async () => {
    const { client, sim, call, events } = await prepare(transport);
    const before = await loadPeriodUsage(token, call);
    expect(before.plan).toMatchObject({ used: 500, remaining: 1500, percentUsed: 25, autoPercentUsed: 10 });
    await client.say("@sim usage 1000000 200000 400000 ;; call look {} ;; say {{result}}");
    await client.say("@sim usage 10 20 ;; say again");
    const [latest, first] = await events();
    const { conversationId } = client;
    expect(latest).toMatchObject({ conversationId, inputTokens: 10, outputTokens: 20, cacheReadTokens: 0 });
    expect(first).toMatchObject({ conversationId, inputTokens: 1e6, outputTokens: 200_000, cacheReadTokens: 400_000 });
    // 600,000 at $3, 400,000 at $0.30 and 200,000 at $15 a million; the plan includes it.
    expect([first?.costMicros, first?.chargedMicros]).toEqual([4_920_000, 0]);
    const after = await loadPeriodUsage(token, call);
    expect(after.plan).toMatchObject({ used: 992, remaining: 1008, limit: 2000 });
    expect(after.plan?.percentUsed).toBeCloseTo(49.6, 1);
    const sums = await callSim(sim, DashboardService.method.getAggregatedUsageEvents, {});
    expect(sums).toMatchObject({
      totalInputTokens: 600_010n,
      totalOutputTokens: 200_020n,
      totalCacheReadTokens: 400_000n,
    });
    expect(await loadIsInSlowPool(token, call)).toBe(false);
  });

  it("is to be paid once the plan is used up", async () => {
    const { client, call, events } = await prepare(transport);
    await client.say("@sim usage 6000000 0 ;; say large");
    const [event] = await events();
    expect([event?.costMicros, event?.chargedMicros]).toEqual([18_000_000, 3_000_000]);
    expect((await loadPeriodUsage(token, call)).plan).toMatchObject({ used: 2000, remaining: 0, percentUsed: 100 });
  });

  it("is what was sent of a turn that the client cancels or breaks off, and nothing for a fault", async () => {
    const { client, events } = await prepare(transport);
    const stop = (how: "cancel" | "reset") => {
      let cancel = () => {};
      return client.say("@sim usage 1000 1000 ;; say a b c ;; silent 60000", {
        onOpen: (send) => {
          cancel = () => send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
        },
        onMessage: ({ case: kind }, stream) => {
          if (kind !== "conversationCheckpointUpdate") return;
          if (how === "reset") stream.cancel();
          else cancel();
        },
      });
    };
    void stop("reset");
    await vi.waitFor(async () => expect(await events()).toHaveLength(1));
    await stop("cancel");
    await client.say("@sim say a ;; fault rst");
    const found = await events();
    expect(found).toHaveLength(2);
    for (const { inputTokens, outputTokens } of found) {
      expect(inputTokens).toBeLessThan(1000);
      expect(outputTokens).toBe(3);
    }
  });
});
