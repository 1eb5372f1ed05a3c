import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { UsageStream } from "../../../../src/cluster/redis/usage/usage-stream.ts";
import { WriteBehind } from "../../../../src/cluster/redis/write-behind.ts";
import { createLog } from "../../../../src/observe/log.ts";
import { createRedactor } from "../../../../src/observe/redactor.ts";
import { openUsageDatabase } from "../../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../../src/usage/store/usage-store.ts";
import { openLink } from "../../../contracts/nodes.ts";
import { aCall, aRecord } from "../../../usage/support.ts";
import { hasRedis, type RedisProcess, startRedis } from "../../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const HOUR = 3_600_000;

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "excursor-usage-"));
  defer(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** A gateway with this home folder, which sends and reads only when it is told to. */
async function openNode(redis: RedisProcess, home = makeHome()) {
  let text = "";
  const write = (line: string) => {
    text += line;
  };
  const log = createLog({ level: "warn", redactor: createRedactor(), write, isPretty: false });
  const link = await openLink(redis, defer, log);
  const writes = new WriteBehind(link);
  const connection = await openUsageDatabase(join(home, "usage.db"), (text) => expect.unreachable(text));
  const store = new UsageStore(connection, {
    maxAgeMs: 400 * 24 * HOUR,
    maxBytes: 1e9,
    onNotice: (text) => expect.unreachable(text),
  });
  const stream = new UsageStream({ link, writes, store, intervalMs: HOUR });
  defer(async () => {
    await stream.close();
    writes.close();
    store.close();
  });
  return {
    home,
    link,
    store,
    stream,
    log: () => text,
    record(over: Parameters<typeof aRecord>[0] = {}) {
      const record = aRecord(over);
      store.request(record);
      stream.request(record);
      return record;
    },
    async send() {
      store.flush();
      stream.flush();
      await writes.settled();
    },
    ids: (table = "request") =>
      connection
        .prepare(`SELECT ${table === "request" ? "id" : "call_id AS id"} FROM ${table} ORDER BY id`)
        .all()
        .map(({ id }) => id),
  };
}

describe.skipIf(!hasRedis)("the usage records of several nodes", () => {
  it("are in the record of each, once, and count for its limits", async () => {
    const redis = await startRedis(defer);
    const nodes = [await openNode(redis), await openNode(redis)];
    const [one, other] = nodes;
    if (!one || !other) return expect.unreachable();
    const first = one.record({ id: "a" });
    one.stream.toolCall(aCall({ callId: "call" }));
    other.record({ id: "b" });
    for (const { send } of nodes) await send();
    for (let round = 0; round < 3; round++) for (const { stream } of nodes) await stream.read();
    for (const { ids, store } of nodes) {
      expect(ids()).toEqual(["a", "b"]);
      expect(store.spent(first.principalId, 0, 2 ** 42).requests).toBe(2);
    }
    expect(other.ids("tool_call")).toEqual(["call"]);
  });

  const EMPTY = { requests: [], corrections: [], runs: [], calls: [], lifted: [] };

  it.each([
    "no JSON",
    "null",
    '{"requests":1}',
    JSON.stringify({ ...EMPTY, requests: [null] }),
    JSON.stringify({ ...EMPTY, requests: [{ id: "x", principalId: "p", startedAt: "soon" }] }),
  ])("go on after an entry that is none: %s", async (bad) => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    await one.link.ask(
      (client) => client.sendCommand(["XADD", one.link.key("usage"), "*", "record", "another", "batch", bad]),
      () => expect.unreachable("Redis is away"),
    );
    await other.stream.read();
    one.record({ id: "a" });
    await one.send();
    await other.stream.read();
    expect(other.ids()).toEqual(["a"]);
    expect(other.log()).toContain("a value that this version cannot read (usage)");
  });

  it("bring the lifting of limits with them, also if nothing else was recorded", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    const { principalId } = one.record({ id: "a" });
    await one.send();
    await other.stream.read();
    expect(other.store.spent(principalId, 0, 2 ** 42).requests).toBe(1);
    one.store.liftLimits(principalId);
    await one.send();
    await other.stream.read();
    expect(other.store.liftedAt(principalId)).toBe(one.store.liftedAt(principalId));
    expect(other.store.spent(principalId, 0, 2 ** 42).requests).toBe(0);
  });

  it("are corrected everywhere", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    const before = one.record({ id: "a" });
    await one.send();
    await other.stream.read();
    const usage = { ...before.usage, inputTokens: 1, outputTokens: 2 } as NonNullable<typeof before.usage>;
    one.stream.corrected({ ...before, usage }, before);
    await one.send();
    await other.stream.read();
    expect(other.store.spent(before.principalId, 0, 2 ** 42).tokens).toBe(3);
  });

  it("of gateways with one file are written once, and read by one of them", async () => {
    const redis = await startRedis(defer);
    const one = await openNode(redis);
    const [twin, far] = [await openNode(redis, one.home), await openNode(redis)];
    one.record({ id: "a" });
    twin.record({ id: "b" });
    far.record({ id: "c" });
    for (const { send } of [one, twin, far]) await send();
    await Promise.all([one, twin, far].map(({ stream }) => stream.read()));
    expect([one.ids(), twin.ids(), far.ids()]).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
  });

  it("that were made while Redis was away arrive when it is back, also if it comes back empty (REL-45)", async () => {
    const redis = await startRedis(defer);
    const [one, other] = [await openNode(redis), await openNode(redis)];
    one.record({ id: "a" });
    await one.send();
    await other.stream.read();
    await redis.kill();
    one.record({ id: "b" });
    await one.send();
    expect(one.ids()).toEqual(["a", "b"]);
    await redis.restart();
    for (const { link } of [one, other]) {
      await new Promise<void>((resolve) => {
        if (link.isUp) return resolve();
        link.onChange((isUp) => isUp && resolve());
      });
    }
    await one.send();
    await other.stream.read();
    expect(other.ids()).toEqual(["a", "b"]);
  });
});
