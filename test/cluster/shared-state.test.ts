import { afterEach, describe, expect, it } from "vitest";
import type { RedisClient } from "../../src/cluster/redis/redis-link.ts";
import { addKey, revokeKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { openLink } from "../contracts/nodes.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { answersTo, type Messages, TOOLS } from "../gateway/support/tool-client.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import type { OwnNode } from "./support/own-cluster.ts";
import { hasRedis } from "./support/redis-process.ts";
import { clientOf, keyCounter, openSharedCluster, statusOf } from "./support/shared-cluster.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

/** A token of another account. */
const STRANGER = `${["header", "payload"].map((part) => Buffer.from(JSON.stringify({ part, sub: "auth0|user_2" })).toString("base64url")).join(".")}.signature`;

describe.skipIf(!hasRedis)("gateways that share one Redis", () => {
  it("go on with a conversation from the checkpoint of another one", async () => {
    const { at, redis } = await openSharedCluster(defer);
    const count = await keyCounter(redis, defer);
    const messages: Messages = [{ role: "user", content: "@sim say one" }];
    const said: (string | null | undefined)[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const { choices } = await at(turn).client.chat.completions.create({ model: "gpt-5.5", messages });
      const content = choices[0]?.message.content ?? "";
      said.push(content);
      messages.push({ role: "assistant", content }, { role: "user", content: "@sim say {{reused}}" });
      // The last checkpoint arrives after the answer, and is shared after that.
      await expect.poll(() => count("*:checkpoint:*:at:*"), { timeout: 20_000 }).toBe(turn + 1);
    }
    expect(said).toEqual(["one", "checkpoint", "checkpoint", "checkpoint", "checkpoint"]);
  });

  it("know each other's kept answers, and no other tenant does (SEC-30)", async () => {
    const { at, redis } = await openSharedCluster(defer);
    const count = await keyCounter(redis, defer);
    const first = await at(0).client.responses.create({ model: "gpt-5.5", input: "@sim say one" });
    await expect.poll(() => count(`*:response:*:item:*`), { timeout: 20_000 }).toBeGreaterThan(0);
    const second = { model: "gpt-5.5", input: "@sim say {{history}}", previous_response_id: first.id };
    expect((await at(1).client.responses.create(second)).output_text).toContain("one");
    expect((await at(2).client.responses.retrieve(first.id)).output_text).toBe("one");
    const stranger = clientOf(at(1), STRANGER);
    expect(await statusOf(stranger.responses.retrieve(first.id))).toBe(404);
    expect(await statusOf(stranger.responses.create(second))).toBe(400);
    await at(1).client.responses.delete(first.id);
    for (const index of [0, 1, 2]) expect(await statusOf(at(index).client.responses.retrieve(first.id))).toBe(404);
  });

  it("accept a key that one of them has issued, and none that one of them has revoked (SEC-09)", async () => {
    const { nodes, at } = await openSharedCluster(defer);
    const key = await addKey(at(0).home, "alice", { account: undefined, limits: { usage: [] } });
    const ask = (node: OwnNode) =>
      statusOf(
        clientOf(node, key.reveal()).chat.completions.create({
          model: "gpt-5.5",
          messages: [{ role: "user", content: "@sim say hi" }],
        }),
      );
    for (const node of nodes) await expect.poll(() => ask(node), { timeout: 20_000 }).toBe(200);
    await revokeKey(at(1).home, "alice");
    for (const node of nodes) await expect.poll(() => ask(node), { timeout: 20_000 }).toBe(401);
  });

  it("end the answers of a key that another one has revoked, also those that they replay (SEC-09)", async () => {
    const { at, trace } = await openSharedCluster(defer);
    const key = await addKey(at(0).home, "alice", { account: undefined, limits: { usage: [] } });
    const ask = (node: OwnNode, messages: Messages) =>
      clientOf(node, key.reveal()).chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS, stream: true });
    for (const index of [0, 1]) {
      const warm = async () => statusOf(ask(at(index), [{ role: "user", content: "@sim say hi" }]));
      await expect.poll(warm, { timeout: 20_000 }).toBe(200);
    }
    const question: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say begun ;; silent 600000' }];
    const chunks = await Array.fromAsync(await ask(at(0), question));
    const id = chunks.map(({ choices }) => choices[0]?.delta.tool_calls?.[0]?.id).find((text) => text) ?? "";
    const call = { id, type: "function" as const, function: { name: "look", arguments: '{"at":"a"}' } };
    const followUp: Messages = [
      ...question,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content: "saw a" },
    ];
    // One is a question, the other is a follow-up that is replayed.
    const direct = await ask(at(1), [{ role: "user", content: "@sim say begun ;; silent 600000" }]);
    const replayed = await ask(at(1), followUp);
    const before = trace.filter(isGivenUp).length;
    const reading = [direct, replayed].map(async (stream) => {
      let text = "";
      await expect(
        (async () => {
          for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
        })(),
      ).rejects.toThrow("revoked");
      return text;
    });
    await expect.poll(() => trace.filter(({ kind }) => kind === "text_delta").length).toBeGreaterThanOrEqual(4);
    const revokedAt = performance.now();
    await revokeKey(at(2).home, "alice");
    expect(await Promise.all(reading)).toEqual(["begun", "begun"]);
    console.info(`answers of a revoked key ended after ${Math.round(performance.now() - revokedAt)} ms`);
    // Both upstreams are told.
    await expect.poll(() => trace.filter(isGivenUp).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(before + 2);
  }, 60_000);

  it("hold a follow-up on another node to the limits of its key", async () => {
    const { at, traced, redis } = await openSharedCluster(defer, ["a", "b"]);
    const key = await addKey(at(0).home, "alice", {
      account: undefined,
      limits: { usage: ["5000 tokens/day"] },
    });
    const messages: Messages = [{ role: "user", content: '@sim call look {"at":"a"} ;; say done' }];
    const ask = (node: OwnNode) =>
      clientOf(node, key.reveal()).chat.completions.create({ model: "gpt-5.5", messages, tools: TOOLS });
    await expect.poll(() => statusOf(ask(at(1))), { timeout: 20_000 }).not.toBe(401);
    messages[0] = { role: "user", content: '@sim call look {"at":"b"} ;; say done' };
    const answer = (await ask(at(0))).choices[0]?.message ?? expect.unreachable();
    messages.push(answer, ...answersTo(answer));
    await clientOf(at(0), key.reveal()).chat.completions.create({
      model: "gpt-5.5",
      messages: [{ role: "user", content: "@sim usage 5000 1 ;; say hello" }],
    });
    const link = await openLink(redis, defer);
    const counted = () =>
      link.ask(
        async (client) => Promise.all((await client.keys(link.key("count:*"))).map((name) => read(client, name))),
        () => [],
      );
    await expect.poll(counted, { timeout: 20_000 }).toContainEqual(expect.stringMatching(/"5\d\d\d 0 /));
    const before = traced("run_request");
    expect(await statusOf(ask(at(1)))).toBe(429);
    expect(traced("run_request")).toBe(before);
  });

  it("leave nothing in Redis that stays for ever, and nothing that opens anything (SEC-48)", async () => {
    const { at, redis, nodes } = await openSharedCluster(defer, ["a", "b"]);
    const count = await keyCounter(redis, defer);
    const limits = { usage: ["100000 tokens/day", "90000 tokens/conversation", "1000 requests/minute"], streams: 9 };
    const key = await addKey(at(0).home, "alice", { account: undefined, limits });
    const say = `secret-words ${"secret-words ".repeat(200)}`;
    for (const node of nodes) {
      const client = clientOf(node, key.reveal());
      const ask = () =>
        client.chat.completions.create({
          model: "gpt-5.5",
          stream: true,
          messages: [{ role: "user", content: `@sim say ${say}` }],
        });
      await expect.poll(() => statusOf(ask().then((stream) => Array.fromAsync(stream))), { timeout: 20_000 }).toBe(200);
      await client.responses.create({ model: "gpt-5.5", input: `@sim think secret-words ;; say ${say}` });
    }
    for (const pattern of ["*:checkpoint:*:at:*", "*:response:*:item:*", "*:thought:*", "count:*", "usage"]) {
      await expect.poll(() => count(pattern), { timeout: 20_000, message: pattern }).toBeGreaterThan(0);
    }
    const link = await openLink(redis, defer);
    const all = await link.ask(
      async (client) => {
        const keys = await client.keys("*");
        return Promise.all(
          keys.map(async (name) => ({ name, ttl: await client.pTTL(name), text: await read(client, name) })),
        );
      },
      () => [],
    );
    expect(all.length).toBeGreaterThan(20);
    expect(all.filter(({ ttl }) => ttl === -1).map(({ name }) => name)).toEqual([]);
    const opens = [KEY, key.reveal(), "tester"];
    expect(all.filter(({ text }) => opens.some((secret) => text.includes(secret))).map(({ name }) => name)).toEqual([]);
  }, 60_000);
});

/** Returns everything that a key holds. */
async function read(client: RedisClient, name: string): Promise<string> {
  const commands: Readonly<Record<string, readonly string[]>> = {
    string: ["GET", name],
    hash: ["HGETALL", name],
    zset: ["ZRANGE", name, "0", "-1"],
    set: ["SMEMBERS", name],
    stream: ["XRANGE", name, "-", "+"],
  };
  const command = commands[await client.type(name)];
  if (!command) return expect.unreachable(name);
  const [first = "", ...rest] = command;
  return JSON.stringify(await client.sendCommand([first, ...rest]));
}
