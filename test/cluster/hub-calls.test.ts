import { afterEach, describe, expect, it, vi } from "vitest";
import { HubMemory } from "../../src/core/hub/hub-memory.ts";
import type { HubResult } from "../../src/core/hub/tool-hub.ts";
import { redisNodes } from "../contracts/nodes.ts";
import {
  followUp,
  HUBS,
  LAST,
  openHubGateway,
  QUESTION,
  resultsIn,
  said,
  tool,
} from "../core/hub/support/hub-gateway.ts";
import { aTurn, gather, textIn } from "../core/support/turns.ts";
import { hasRedis } from "./support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const HUB_CALL = { type: "tool-call", name: "hub__a", args: {}, isHubs: true } as const;

const UNKNOWN = "The outcome of this call is unknown";

describe.skipIf(!hasRedis)("the hub on two nodes", () => {
  async function setUp() {
    const nodes = await redisNodes(defer);
    const open = async () => {
      const { hubAnswers, link, settled } = await nodes.open();
      const call = Promise.withResolvers<HubResult>();
      const { ask, calls } = openHubGateway(hubAnswers, () => call.promise);
      return { ask, calls, hubAnswers, link, settled, answer: (text: string) => call.resolve(said(text)) };
    };
    return [await open(), await open()] as const;
  }

  it("answers two equal questions each for itself, also while both run", async () => {
    const [one, other] = await setUp();
    const first = gather(one.ask(QUESTION, [HUBS, LAST]).run);
    await vi.waitFor(() => expect(one.calls()).toBe(1));
    const { run, told } = other.ask(QUESTION, [HUBS, LAST]);
    const second = gather(run);
    await vi.waitFor(() => expect(other.calls()).toBe(1), 10_000);
    one.answer("first");
    expect(textIn(await first)).toBe("b\n\nc");
    other.answer("second");
    expect(textIn(await second)).toBe("b\n\nc");
    expect(resultsIn(told[0] ?? [])).toEqual([]);
    expect([one.calls(), other.calls()]).toEqual([1, 1]);
  }, 20_000);

  it("continues a question when its client comes to another node, with the calls that are still under way", async () => {
    const [one, other] = await setUp();
    const { run } = one.ask(QUESTION, [HUBS]);
    const reading = gather(run).catch(() => {});
    await vi.waitFor(() => expect(one.calls()).toBe(1));
    run.cancel();
    await reading;
    const { run: again, told } = other.ask(QUESTION, [LAST]);
    const answer = gather(again);
    one.answer("first");
    expect(textIn(await answer)).toBe("b\n\nc");
    expect(resultsIn(told[0] ?? [])).toEqual(["first"]);
    expect([one.calls(), other.calls()]).toEqual([1, 0]);
  }, 20_000);

  it("takes a question over from a node that is gone, and makes no call again (REL-34)", async () => {
    const [one, other] = await setUp();
    gather(one.ask(QUESTION, [HUBS]).run).catch(() => {});
    await vi.waitFor(() => expect(one.calls()).toBe(1));
    one.link.close();
    const { run, told } = other.ask(QUESTION, [LAST]);
    expect(textIn(await gather(run))).toBe("b\n\nc");
    expect(resultsIn(told[0] ?? [])).toEqual([expect.stringContaining(UNKNOWN)]);
    expect([one.calls(), other.calls()]).toEqual([1, 0]);
  }, 20_000);

  it("makes the answer to a follow-up on one of them, and the other one waits for it", async () => {
    const [one, other] = await setUp();
    const history = followUp(QUESTION, "");
    const first = gather(one.ask(history, [HUBS, LAST]).run);
    await vi.waitFor(() => expect(one.calls()).toBe(1));
    const { run, told } = other.ask(history, []);
    const second = gather(run);
    one.answer("first");
    expect([textIn(await first), textIn(await second)]).toEqual(["b\n\nc", "b\n\nc"]);
    expect(told).toEqual([]);
    expect([one.calls(), other.calls()]).toEqual([1, 0]);
  }, 20_000);

  it("stops waiting for the other one when the client is gone", async () => {
    const [one, other] = await setUp();
    const history = followUp(QUESTION, "");
    void gather(one.ask(history, [HUBS, LAST]).run);
    await vi.waitFor(() => expect(one.calls()).toBe(1));
    const { run } = other.ask(history, []);
    const reading = expect(gather(run)).rejects.toMatchObject({ name: "AbortError" });
    run.cancel();
    await reading;
    one.answer("first");
  });

  it("makes a call of a follow-up once, also if it reaches both at the same time", async () => {
    const [one, other] = await setUp();
    one.answer("done");
    other.answer("done");
    const history = followUp(QUESTION, "");
    const ask = (node: typeof one) => gather(node.ask(history, [HUBS, LAST]).run).then(textIn);
    const both = await Promise.allSettled([ask(one), ask(other)]);
    for (const [at, outcome] of both.entries()) {
      if (outcome.status === "fulfilled") expect(outcome.value).toBe("b\n\nc");
      else {
        expect(outcome.reason).toMatchObject({ kind: "busy", code: "answered_elsewhere", retryable: true });
        expect(await ask(at === 0 ? one : other)).toBe("b\n\nc");
      }
    }
    expect(one.calls() + other.calls()).toBe(1);
  }, 20_000);

  it("asks the client to come again if the other one has begun and ended the answer meanwhile", async () => {
    const [one, other] = await setUp();
    const history = followUp(QUESTION, "");
    one.answer("done");
    const turn = aTurn({ tools: [tool("look")], messages: history });
    // It has asked the store, which knew nothing, and its model takes longer.
    const late = await new HubMemory(other.hubAnswers).answerTo(turn);
    const release = late.hold();
    expect(textIn(await gather(one.ask(history, [HUBS, LAST]).run))).toBe("b\n\nc");
    await one.settled();
    const make = vi.fn();
    late.addRound({ role: "assistant", content: [{ ...HUB_CALL, id: "late" }] }, make);
    await expect(late.resultsOf(0)).rejects.toMatchObject({ code: "answered_elsewhere" });
    release();
    expect(make).not.toHaveBeenCalled();
    expect(textIn(await gather(other.ask(history, []).run))).toBe("b\n\nc");
  });
});
