import { afterEach, describe, expect, it } from "vitest";
import type { Cluster } from "../../../src/cluster/cluster.ts";
import { createSharedHubAnswers } from "../../../src/cluster/redis/stores/shared-hub-answers.ts";
import { WriteBehind } from "../../../src/cluster/redis/write-behind.ts";
import { createHubAnswerStore } from "../../../src/state/hub-answer-store.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";
import { joinWith, openBareCluster } from "../support/bare-cluster.ts";
import { hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const PLACE = { principalId: "p", id: "i", askedKey: "a" };
const HUB_CALL = { type: "tool-call", id: "c", name: "notes__note", args: {}, isHubs: true } as const;
const ROUND = { said: { role: "assistant" as const, content: [HUB_CALL] }, results: [] };
const RESULT = {
  role: "tool" as const,
  callId: "c",
  content: [{ type: "text" as const, text: "noted" }],
  isError: false,
  isHubs: true as const,
};

/** The answers of the hub as one gateway sees them. It joins when the test says so. */
async function openNode(cluster: Cluster, scope = "sim") {
  const state = await openStateDatabase(":memory:");
  const writes = new WriteBehind(cluster.link);
  defer(() => {
    writes.close();
    state.close();
  });
  const parts = { link: cluster.link, writes, packing: cluster.packing("values"), scope };
  const answers = createSharedHubAnswers(parts, createHubAnswerStore(state), cluster.copies.open(scope));
  return {
    answers,
    join: () => joinWith(cluster, {}),
    begin: () => answers.leases?.begin({ place: PLACE, isHeld: true }, 0, ROUND),
    find: () => answers.findAsked("p", "a"),
    /** Its process dies: its connections are lost, and nothing is said. */
    die: () => cluster.close(),
    untilAway: () => expect.poll(() => cluster.link.isUp).toBe(false),
  };
}

async function setUp(names: readonly string[] = ["one", "other"]) {
  const redis = await startRedis(defer);
  const open = async (name: string, scope?: string) => openNode(await openBareCluster(redis, name, defer), scope);
  const [one, other] = [await open(names[0] ?? ""), await open(names[1] ?? "")];
  for (const node of [one, other]) await node.join();
  const lose = async (...nodes: readonly (typeof one)[]) => {
    await redis.kill();
    for (const node of nodes) await node.untilAway();
  };
  return { redis, open, one, other, lose };
}

describe.skipIf(!hasRedis)("what gateways tell each other of their hubs (REL-34)", () => {
  it("is known on another gateway when one has died and Redis has lost it", async () => {
    const { one, other, lose } = await setUp();
    expect(await one.begin()).toBe("ours");
    await lose(one, other);
    await one.die();
    await expect.poll(other.find).toMatchObject([{ id: "i", rounds: [ROUND], isElsewhere: false }]);
  });

  it("is known of a round that was begun without Redis", async () => {
    const { one, other, lose } = await setUp();
    await lose(one, other);
    expect(await one.begin()).toBe("ours");
    one.answers.putRound(PLACE, 0, { ...ROUND, results: [RESULT] });
    one.answers.putEnd(PLACE, { text: "", reason: "tool-calls" }, "history");
    await one.die();
    await expect.poll(other.find).toMatchObject([{ rounds: [{ results: [RESULT] }], end: { reason: "tool-calls" } }]);
    const answered = await other.answers.findAnswered("p", ["another", "history"]);
    expect([...answered.keys()]).toEqual(["history"]);
    expect(answered.get("history")).toMatchObject({ id: "i", rounds: [{ results: [RESULT] }] });
  });

  it("says who makes an answer without Redis: another gateway waits until it is left", async () => {
    const { one, other, lose } = await setUp();
    await lose(one, other);
    await one.begin();
    await expect.poll(other.find).toMatchObject([{ isElsewhere: true }]);
    let isFound = false;
    const found = Promise.resolve(other.answers.findAsked("p", "a", new AbortController().signal)).then((answers) => {
      isFound = true;
      return answers;
    });
    await other.find();
    expect(isFound).toBe(false);
    one.answers.leases?.free(PLACE);
    expect(await found).toMatchObject([{ id: "i", isElsewhere: false }]);
  });

  it("ends that waiting when the client is gone", async () => {
    const { one, other, lose } = await setUp();
    await lose(one, other);
    await one.begin();
    await expect.poll(other.find).toMatchObject([{ isElsewhere: true }]);
    const client = new AbortController();
    const found = other.answers.findAsked("p", "a", client.signal);
    client.abort();
    await expect(found).rejects.toMatchObject({ name: "AbortError" });
  });

  it.each([
    ["by the gateway that has made it", false],
    ["by another one if that is gone", true],
  ])("is told to a gateway that joins later, %s", async (_, isGone) => {
    const { one, other, open, lose } = await setUp();
    await one.begin();
    // As long as Redis replies, it takes until the lease is renewed.
    await expect.poll(other.find, { timeout: 5000 }).toHaveLength(1);
    if (isGone) await one.die();
    const third = await open("third");
    await third.join();
    await lose(third);
    await one.die();
    await other.die();
    expect(await third.find()).toMatchObject([{ id: "i", rounds: [ROUND] }]);
  });

  it("stays with the gateways of one backend", async () => {
    const { one, open, lose } = await setUp();
    await one.begin();
    const stranger = await open("stranger", "another backend");
    await stranger.join();
    await lose(stranger);
    expect(await stranger.find()).toEqual([]);
  });
});
