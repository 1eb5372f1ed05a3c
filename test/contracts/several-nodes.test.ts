import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { HubRound } from "../../src/core/hub/hub-answers.ts";
import { NO_USAGE } from "../../src/core/rules/usage-estimate.ts";
import type { Thought } from "../../src/core/thinking/thoughts.ts";
import { fetchThoughts } from "../../src/faces/shared/fetch-thoughts.ts";
import { addKey, keysPath, readKeys, revokeKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { hasRedis } from "../cluster/support/redis-process.ts";
import { checkpoint } from "../state/support.ts";
import { aRecord } from "../usage/support.ts";
import { type NodeStores, type Nodes, redisNodes, sqliteNodes } from "./nodes.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const STORES: Readonly<Record<string, (given: typeof defer) => Promise<Nodes>>> = {
  "one home folder": sqliteNodes,
  ...(hasRedis && { Redis: redisNodes }),
};

if (!hasRedis) console.info("redis-server is not installed: the contract of the stores is checked on SQLite only.");

/** The contract of every store that several gateways share. */
describe.each(Object.entries(STORES))("gateways with %s", (name, open) => {
  async function setUp() {
    const nodes = await open(defer);
    const [one, other] = [await nodes.open(), await nodes.open()];
    return { one, other };
  }

  describe("share checkpoints", () => {
    it("of the same history and principal, with their blobs, and with nobody else (SEC-30)", async () => {
      const { one, other } = await setUp();
      const kept = checkpoint("conversation", "state", "first", "x".repeat(5000));
      one.checkpoints.put("alice", "history", kept);
      await one.settled();
      const found = await other.checkpoints.find("alice", "history");
      expect(found?.conversationId).toBe("conversation");
      expect(Buffer.from(found?.state ?? []).toString()).toBe(Buffer.from(kept.state).toString());
      expect([...(found?.blobs ?? [])].map(([name, data]) => [name, Buffer.from(data).toString()])).toEqual(
        [...kept.blobs].map(([name, data]) => [name, Buffer.from(data).toString()]),
      );
      expect(await other.checkpoints.find("bob", "history")).toBeUndefined();
      expect(await other.checkpoints.find("alice", "another history")).toBeUndefined();
    });

    it("over many turns of a conversation, and the last one of a history counts", async () => {
      const { one, other } = await setUp();
      for (let turn = 0; turn < 20; turn++) {
        const blobs = Array.from({ length: turn + 1 }, (_value, at) => `blob ${at}`);
        one.checkpoints.put("alice", `history ${turn}`, checkpoint("conversation", `state ${turn}`, ...blobs));
      }
      one.checkpoints.put("alice", "history 3", checkpoint("conversation", "again", "blob 1"));
      await one.settled();
      for (const [history, state, blobs] of [
        ["history 0", "state 0", 1],
        ["history 3", "again", 1],
        ["history 19", "state 19", 20],
      ] as const) {
        const found = await other.checkpoints.find("alice", history);
        expect([Buffer.from(found?.state ?? []).toString(), found?.blobs.size]).toEqual([state, blobs]);
      }
    });
  });

  describe("share kept answers", () => {
    const answer = (id: string, previousId?: string) => ({
      id,
      previousId,
      body: `{"id":"${id}"}`,
      input: [{ id: `${id}-in`, json: `"${id} in"` }],
      output: [{ id: `${id}-out`, json: `"${id} out"` }],
    });

    it("by their ids, their items and their conversation, with nobody else (SEC-30)", async () => {
      const { one, other } = await setUp();
      one.responses.put("alice", answer("a"));
      await one.settled();
      other.responses.put("alice", answer("b", "a"));
      await other.settled();
      one.responses.put("alice", answer("c", "b"));
      await one.settled();
      for (const { responses } of [one, other]) {
        expect(await responses.find("alice", "b")).toEqual(answer("b", "a"));
        expect(await responses.conversation("alice", "c")).toEqual(
          ["a", "b", "c"].flatMap((id) => [`"${id} in"`, `"${id} out"`]),
        );
        expect(await responses.findItem("alice", "a-out")).toBe('"a out"');
        expect(await responses.find("bob", "b")).toBeUndefined();
        expect(await responses.conversation("bob", "c")).toBeUndefined();
        expect(await responses.findItem("bob", "a-out")).toBeUndefined();
      }
    });

    it("and what one deletes is gone for all, once", async () => {
      const { one, other } = await setUp();
      one.responses.put("alice", answer("a"));
      one.responses.put("alice", answer("b", "a"));
      await one.settled();
      expect(await other.responses.delete("bob", "a")).toBe(false);
      expect(await other.responses.delete("alice", "a")).toBe(true);
      expect(await one.responses.delete("alice", "a")).toBe(false);
      for (const { responses } of [one, other]) {
        expect(await responses.find("alice", "a")).toBeUndefined();
        expect(await responses.findItem("alice", "a-in")).toBeUndefined();
        expect(await responses.conversation("alice", "b")).toBeUndefined();
        expect(await responses.find("alice", "b")).toEqual(answer("b", "a"));
      }
    });
  });

  describe("share thinking", () => {
    const fetched = async ({ thoughts }: NodeStores, principalId: string, wanted: { id?: string; text?: string }) => {
      const read = (store: NodeStores["thoughts"]): Thought | undefined =>
        wanted.id === undefined ? store.findByText(principalId, wanted.text ?? "") : store.find(principalId, wanted.id);
      await fetchThoughts(thoughts, principalId, read);
      return read(thoughts);
    };

    it("by id and by text, with nobody else (SEC-30)", async () => {
      const { one, other } = await setUp();
      const long = "thought ".repeat(1000);
      one.thoughts.keep("alice", "t1", { text: long, signature: "signed" });
      one.thoughts.keep("alice", "t2", { text: "short", signature: undefined });
      await one.settled();
      expect(await fetched(other, "alice", { id: "t1" })).toEqual({ text: long, signature: "signed" });
      expect(await fetched(other, "alice", { text: "short" })).toEqual({ text: "short", signature: undefined });
      expect(await fetched(other, "bob", { id: "t1" })).toBeUndefined();
      expect(await fetched(other, "bob", { text: "short" })).toBeUndefined();
    });
  });

  describe("share answers of the hub", () => {
    const place = { principalId: "alice", id: "answer", askedKey: "asked" };
    const call = { type: "tool-call", id: "c", name: "look", args: {}, isHubs: true } as const;
    const begun: HubRound = { said: { role: "assistant", content: [call] }, results: [] };
    const content = [{ type: "image", mediaType: "image/png", data: new Uint8Array([1, 2]) } as const];
    const made: HubRound = {
      ...begun,
      results: [{ role: "tool", callId: "c", content, isError: false, isHubs: true }],
    };

    it("by request and by history, with nobody else (SEC-30)", async () => {
      const { one, other } = await setUp();
      one.hubAnswers.putRound(place, 0, begun);
      one.hubAnswers.putRound(place, 0, made);
      await one.settled();
      const [found] = await other.hubAnswers.findAsked("alice", "asked");
      expect(found).toMatchObject({
        id: "answer",
        askedKey: "asked",
        rounds: [made],
        end: undefined,
        isSettled: false,
      });
      one.hubAnswers.putEnd(place, { text: "done", reason: "stop" }, "history");
      one.hubAnswers.settle(place);
      await one.settled();
      const ended = { id: "answer", rounds: [made], end: { text: "done", reason: "stop" }, isSettled: true };
      const answered = await other.hubAnswers.findAnswered("alice", ["none", "history"]);
      expect([...answered.keys()]).toEqual(["history"]);
      expect(answered.get("history")).toMatchObject(ended);
      expect(await other.hubAnswers.findAsked("bob", "asked")).toEqual([]);
      expect((await other.hubAnswers.findAnswered("bob", ["history"])).size).toBe(0);
    });

    it("and a round is begun by one of them", async () => {
      const { one, other } = await setUp();
      const claim = async ({ hubAnswers }: NodeStores, position: number) =>
        hubAnswers.beginRound(place, position, begun);
      expect(await claim(one, 0)).toBe(true);
      expect(await claim(one, 0)).toBe(true);
      // Processes with one file do not tell who has begun a round.
      if (name === "Redis") {
        expect(await claim(other, 0)).toBe(false);
        // What is claimed is written: another node learns of it before the call is made.
        expect(await other.hubAnswers.findAsked("alice", "asked")).toMatchObject([{ rounds: [begun] }]);
        const both = await Promise.all([claim(one, 1), claim(other, 1)]);
        expect(both.filter((isOurs) => isOurs)).toHaveLength(1);
      }
    });
  });

  describe("share issued keys", () => {
    const names = ({ home }: NodeStores) => readKeys(keysPath(home)).map(({ name }) => name);

    it("and what one revokes is revoked for all, also under the same name again (SEC-09)", async () => {
      const { one, other } = await setUp();
      await addKey(one.home, "alice", { account: "work", limits: { usage: ["5 tokens/day"], streams: 3 } });
      await one.settled();
      expect(readKeys(keysPath(other.home))).toEqual(readKeys(keysPath(one.home)));
      const [first] = readKeys(keysPath(other.home));
      await revokeKey(other.home, "alice");
      await other.settled();
      expect([names(one), names(other)]).toEqual([[], []]);
      await addKey(one.home, "alice", { account: undefined, limits: {} });
      await one.settled();
      expect([names(one), names(other)]).toEqual([["alice"], ["alice"]]);
      expect(readKeys(keysPath(other.home))[0]?.id).not.toBe(first?.id);
    });
  });

  describe("share the usage record", () => {
    const tokens = ({ usage }: NodeStores) => usage.spent("alice", 0, Date.now() + 86_400_000).tokens;

    it("with corrections, each request once", async () => {
      const { one, other } = await setUp();
      const records = [1, 2, 3].map((n) => aRecord({ id: `request-${n}`, principalId: "alice" }));
      for (const record of records) for (const sink of one.sinks) sink.request?.(record);
      await one.settled();
      expect([tokens(one), tokens(other)]).toEqual([360, 360]);
      const [first] = records;
      if (!first?.usage) return expect.unreachable();
      const corrected = { ...first, usage: { ...first.usage, outputTokens: 50 } };
      for (const sink of one.sinks) sink.corrected?.(corrected, first);
      await one.settled();
      await other.settled();
      expect([tokens(one), tokens(other)]).toEqual([390, 390]);
    });
  });

  describe("share limits", () => {
    const spend = async ({ limits, sinks }: NodeStores, count: number) => {
      const demand = { model: "m", driver: "d", conversation: "c", inputTokens: 10 };
      const reservation = await limits.reserve("alice", () => demand);
      const usage = { ...NO_USAGE, inputTokens: count, isEstimate: false };
      const record = aRecord({ id: randomUUID(), principalId: "alice", startedAt: Date.now(), usage });
      for (const sink of sinks) sink.request?.(record);
      reservation?.release({ tokens: count, dollars: 0 });
    };

    it("so that what one has spent counts at the other", async () => {
      const { one, other } = await setUp();
      await spend(one, 600);
      await one.settled();
      await spend(other, 400);
      await other.settled();
      for (const node of [one, other]) {
        await expect(spend(node, 1)).rejects.toMatchObject({
          kind: "quota-exhausted",
          message: expect.stringContaining("has used 1000 tokens"),
        });
      }
    });
  });
});
