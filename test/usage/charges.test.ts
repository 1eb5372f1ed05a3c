import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ChargeFollower } from "../../src/app/usage/charge-follower.ts";
import { Secret } from "../../src/core/secret.ts";
import { createFixedAccess } from "../../src/credentials/fixed-access.ts";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { reportCharges } from "../../src/usage/reports/charge-report.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { excursor } from "../cli/support/excursor.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";
import { BackendClient } from "../sim/support/backend-client.ts";
import { aCharge } from "./support.ts";

const ALWAYS = { fromMs: 0, untilMs: 2 ** 42 };
const log = { debug: () => {}, warn: () => {} };

let sim: Simulator | undefined;

afterEach(async () => {
  vi.useRealTimers();
  await sim?.close();
  sim = undefined;
});

async function openStore(path: string) {
  const connection = await openUsageDatabase(path, () => {});
  const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e12, onNotice: () => {} });
  return { connection, store };
}

const followerOf = (origin: string, store: UsageStore) =>
  new ChargeFollower({
    access: createFixedAccess(new Secret("tester")),
    call: { transport: createHttp1Transport(), origin },
    store,
    costOf: () => undefined,
    log,
  });

describe("what Cursor charges", () => {
  it("is reconciled by conversation: estimate, cost, charged, difference, and what was used elsewhere", async () => {
    sim = await startSim();
    const gateway = await openOwnGateway({
      upstream: sim.url,
      prices: { "gpt-5.5": { input: 2, output: 15, cached: 0.3 } },
    });
    const ask = async (messages: readonly object[]) => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-5.5", messages }),
      });
      return ((await response.json()) as { choices: { message: object }[] }).choices[0]?.message ?? {};
    };
    const opening = { role: "user", content: "@sim usage 1000000 0 ;; say one" };
    const answer = await ask([opening]);
    await ask([opening, answer, { role: "user", content: "@sim usage 5000000 0 ;; say two" }]);
    await ask([{ role: "user", content: "@sim usage 1000 10 ;; say other" }]);
    // The same account, in another program.
    const ide = new BackendClient({ url: sim.url, transport: "h2" });
    await ide.say("@sim usage 100 10 ;; say elsewhere");
    ide.close();
    await gateway.restart();

    const { connection, store } = await openStore(join(gateway.home, "usage.db"));
    const follower = followerOf(sim.url, store);
    await follower.ask(undefined);
    const { conversations, elsewhere } = reportCharges(connection, ALWAYS);
    expect([...conversations.values()]).toEqual(
      expect.arrayContaining([
        {
          calls: 2,
          input: 6_000_000,
          output: 0,
          cached: 0,
          costMicros: 18_000_000,
          // The plan has $15 left.
          chargedMicros: 3_000_000,
          estimateMicros: 12_000_000,
          differenceMicros: 6_000_000,
        },
        expect.objectContaining({ calls: 1, input: 1000, output: 10, estimateMicros: 2150, costMicros: 3150 }),
      ]),
    );
    expect(elsewhere).toMatchObject({ calls: 1, input: 100, output: 10 });
    // Asked again, nothing is counted twice.
    await followerOf(sim.url, store).ask(undefined);
    expect(reportCharges(connection, ALWAYS)).toEqual({ conversations, elsewhere });
    store.close();

    const run = async (...args: readonly string[]) => {
      const { exited, output } = excursor(["usage", ...args], { environment: { EXCURSOR_HOME: gateway.home } });
      await exited;
      return output;
    };
    const json = await run("--by", "conversation", "--json");
    const { rows, chargedElsewhere } = JSON.parse(json.stdout) as { rows: readonly object[]; chargedElsewhere: object };
    expect(rows[0]).toMatchObject({ requests: 2, costMicros: 12_000_000, charges: { differenceMicros: 6_000_000 } });
    expect(chargedElsewhere).toMatchObject({ calls: 1 });
    const table = await run("--by", "conversation");
    expect(table.stdout).toMatch(/COST +CURSOR +DIFFERENCE +CHARGED/);
    expect(table.stdout).toMatch(/~\$12\.00 +\$18\.00 +\+\$6\.0\d +\$3\.00/);
    expect(table.stderr).toContain("1 more calls");
  });

  it("follows what Cursor changes later, and keeps what is older than a day", async () => {
    const { connection, store } = await openStore(":memory:");
    const charge = (at: number, costMicros: number) => aCharge({ at, costMicros });
    store.setCharges("a", { fromMs: 0, untilMs: 100 }, [charge(10, 1), charge(50, 2)]);
    store.setCharges("b", { fromMs: 0, untilMs: 100 }, [charge(50, 4)]);
    store.setCharges("a", { fromMs: 40, untilMs: 100 }, [charge(50, 8), charge(60, 16), charge(10, 99)]);
    expect(reportCharges(connection, ALWAYS).elsewhere).toMatchObject({ calls: 4, costMicros: 1 + 4 + 8 + 16 });
    expect([store.latestCharge("a"), store.latestCharge("none")]).toEqual([60, undefined]);
    store.close();
  });

  it("is asked for in the background, after an account was used, and at most every five minutes", async () => {
    vi.useFakeTimers();
    const { store } = await openStore(":memory:");
    const asked: (string | undefined)[] = [];
    const access = {
      get: (account: string | undefined) => {
        asked.push(account);
        return Promise.reject(new Error("away"));
      },
      renew: () => Promise.resolve(undefined),
    };
    const call = { transport: createHttp1Transport(), origin: "http://127.0.0.1:9" };
    const follower = new ChargeFollower({ access, call, costOf: () => undefined, store, log });
    const minutes = (count: number) => vi.advanceTimersByTimeAsync(count * 60_000);
    await minutes(60);
    expect(asked).toEqual([]);
    for (let n = 0; n < 100; n++) follower.used("work");
    await minutes(1);
    expect(asked).toEqual(["work"]);
    for (let n = 0; n < 100; n++) follower.used("work");
    await minutes(4);
    expect(asked).toHaveLength(1);
    await minutes(5);
    expect(asked).toHaveLength(2);
    // An hour after its last use an account is left alone.
    await minutes(120);
    const total = asked.length;
    expect(total).toBeLessThanOrEqual(2 + 12);
    await minutes(600);
    expect(asked).toHaveLength(total);
    follower.used("work");
    follower.close();
    await minutes(60);
    expect(asked).toHaveLength(total);
    store.close();
  });
});
