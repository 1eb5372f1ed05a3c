import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HubAnswers } from "../../../src/core/hub/hub-answers.ts";
import { HubMemory } from "../../../src/core/hub/hub-memory.ts";
import type { HubResult } from "../../../src/core/hub/tool-hub.ts";
import type { Message } from "../../../src/core/turn.ts";
import { createHubAnswerStore } from "../../../src/state/hub-answer-store.ts";
import { openStateDatabase } from "../../../src/state/state-database.ts";
import { aTurn, done, gather, text, textIn } from "../support/turns.ts";
import {
  call,
  followUp,
  HUBS,
  LAST,
  MIXED,
  openHubGateway,
  QUESTION,
  result,
  resultsIn,
  said,
  tool,
  user,
} from "./support/hub-gateway.ts";

let store: HubAnswers;

beforeEach(async () => {
  store = createHubAnswerStore(await openStateDatabase(":memory:"));
});
afterEach(() => {
  vi.useRealTimers();
});

const gateway = (make?: (signal: AbortSignal) => Promise<HubResult>) => openHubGateway(store, make);

describe("the hub's part of a conversation", () => {
  it("is told to a run of another process, where the client's history lacks it", async () => {
    const first = gateway();
    await gather(first.ask(QUESTION, [MIXED]).run);
    const next = gateway();
    const { run, told } = next.ask(followUp(QUESTION, "a"), [HUBS, LAST]);
    expect(textIn(await gather(run))).toBe("b\n\nc");
    expect(resultsIn(told[0] ?? [])).toEqual(["did it", "seen"]);
    expect([first.calls(), next.calls()]).toEqual([1, 1]);
    // The next question of the conversation, without any checkpoint of the upstream's.
    const answered: Message[] = [
      ...followUp(QUESTION, "a"),
      { role: "assistant", content: [{ type: "text", text: "b\n\nc" }] },
      user("and?"),
    ];
    const third = gateway().ask(answered, [LAST]);
    await gather(third.run);
    expect(resultsIn(third.told[0] ?? [])).toEqual(["did it", "seen", "did it"]);
  });

  it("is not told where the history is another one, or another principal's", async () => {
    const { ask } = gateway();
    await gather(ask(QUESTION, [MIXED]).run);
    const edited = ask(followUp(QUESTION, "something else"), [LAST]);
    await gather(edited.run);
    expect(resultsIn(edited.told[0] ?? [])).toEqual(["seen"]);
    const principal = { id: "another", token: undefined };
    const others = ask(followUp(QUESTION, "a"), [LAST], { over: { principal } });
    await gather(others.run);
    expect(resultsIn(others.told[0] ?? [])).toEqual(["seen"]);
  });

  it("is kept for a client that has its calls one by one", async () => {
    const { ask } = gateway();
    const leg = [call("h", "hub__a"), call("c0", "look"), call("c1", "look"), done("tool-calls")];
    await gather(ask(QUESTION, [leg], { over: { allowsParallelCalls: false } }).run);
    const history = followUp(followUp(QUESTION, ""), "", "one", 1);
    const { run, told } = ask(history, [LAST], { over: { allowsParallelCalls: false } });
    await gather(run);
    expect(resultsIn(told[0] ?? [])).toEqual(["did it", "seen", "seen"]);
  });
});

describe("a repeated follow-up", () => {
  it("gets the answer that it had, and the upstream is not asked", async () => {
    const { ask, calls } = gateway();
    const history = followUp(QUESTION, "a");
    expect(textIn(await gather(ask(history, [HUBS, LAST]).run))).toBe("b\n\nc");
    for (const memory of [{ ask, calls }, gateway()]) {
      const { run, told } = memory.ask(history, []);
      expect(await gather(run)).toEqual([text("b"), text("\n\nc"), done()]);
      expect(told).toEqual([]);
    }
    expect(calls()).toBe(1);
  });

  it("gets calls of the client's again under new names, and goes on from there", async () => {
    const { ask, calls } = gateway();
    const history = followUp(QUESTION, "");
    await gather(ask(history, [MIXED], { session: "two" }).run);
    const { run, told } = ask(history, [LAST], { session: "three" });
    expect(await gather(run)).toEqual([text("a"), expect.objectContaining({ name: "look" }), done("tool-calls")]);
    const next = followUp(history, "a", "three");
    expect(run.submitResults([result("c0", "seen")], next)).toBe(true);
    expect(textIn(await gather(run))).toBe("c");
    expect(resultsIn(told[0] ?? [])).toEqual(["seen", "did it", "seen"]);
    // Another process is told the same.
    const again = gateway().ask(next, [LAST]);
    await gather(again.run);
    expect(resultsIn(again.told[0] ?? [])).toEqual(["seen", "did it", "seen"]);
    expect(calls()).toBe(1);
  });

  it("reads along while the first is answered, and takes over where that is cancelled", async () => {
    const { promise, resolve } = Promise.withResolvers<HubResult>();
    const { ask, calls } = gateway(() => promise);
    const history = followUp(QUESTION, "");
    const first = ask(history, [HUBS]);
    const reading = gather(first.run).catch(() => {});
    await vi.waitFor(() => expect(calls()).toBe(1));
    const second = ask(history, [LAST]);
    const answer = gather(second.run);
    first.run.cancel();
    await reading;
    resolve(said("done"));
    expect(textIn(await answer)).toBe("b\n\nc");
    expect(resultsIn(second.told[0] ?? [])).toEqual(["seen", "done"]);
    expect(calls()).toBe(1);
  });

  it("with another model or other tools is another request", async () => {
    const { ask, calls } = gateway();
    const history = followUp(QUESTION, "");
    await gather(ask(history, [HUBS, LAST]).run);
    await gather(ask(history, [HUBS, LAST], { over: { model: { id: "other", effort: undefined } } }).run);
    await gather(ask(history, [HUBS, LAST], { over: { tools: [tool("look"), tool("more")] } }).run);
    expect(calls()).toBe(3);
  });
});

describe("a call under way", () => {
  const never = (signal: AbortSignal) =>
    new Promise<HubResult>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

  it("goes on for three seconds after its client is gone, and then its outcome is unknown", async () => {
    vi.useFakeTimers();
    let isAborted = false;
    const { ask, calls } = gateway((signal) => {
      signal.addEventListener("abort", () => {
        isAborted = true;
      });
      return never(signal);
    });
    const { run } = ask(QUESTION, [HUBS]);
    const reading = expect(gather(run)).rejects.toMatchObject({ name: "AbortError" });
    await vi.waitFor(() => expect(calls()).toBe(1));
    run.cancel();
    await reading;
    await vi.advanceTimersByTimeAsync(2999);
    expect(isAborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isAborted).toBe(true);
    const again = ask(QUESTION, [LAST]);
    expect(textIn(await gather(again.run))).toBe("b\n\nc");
    expect(resultsIn(again.told[0] ?? [])).toEqual([expect.stringContaining("The outcome of this call is unknown")]);
    expect(calls()).toBe(1);
  });

  it("of a question is not shared with the same question of somebody else who waits", async () => {
    const { promise, resolve } = Promise.withResolvers<HubResult>();
    const { ask, calls } = gateway(() => promise);
    const answers = [gather(ask(QUESTION, [HUBS, LAST]).run), gather(ask(QUESTION, [HUBS, LAST]).run)];
    await vi.waitFor(() => expect(calls()).toBe(2));
    resolve(said("done"));
    expect((await Promise.all(answers)).map(textIn)).toEqual(["b\n\nc", "b\n\nc"]);
  });

  it("of a follow-up with text after its results is done once, whoever repeats it", async () => {
    const first = gateway();
    await gather(first.ask(QUESTION, [MIXED]).run);
    const asked = [...followUp(QUESTION, "a"), user("and hurry")];
    const answers: string[] = [];
    for (let n = 0; n < 3; n++) answers.push(textIn(await gather(first.ask(asked, [HUBS, LAST]).run)));
    const later = gateway();
    answers.push(textIn(await gather(later.ask(asked, [HUBS, LAST]).run)));
    expect(new Set(answers)).toEqual(new Set(["b\n\nc"]));
    expect([first.calls(), later.calls()]).toEqual([2, 0]);
    // The next question of the same conversation is a new one.
    const next = [...asked, { role: "assistant", content: [{ type: "text", text: "b\n\nc" }] } as const, user("more")];
    for (let n = 0; n < 2; n++) await gather(later.ask(next, [HUBS, LAST]).run);
    expect(later.calls()).toBe(2);
  });

  it("of a question that was broken off long ago is not gone on with", async () => {
    let now = Date.now();
    store = createHubAnswerStore(await openStateDatabase(":memory:"), { now: () => now });
    const { ask, calls } = gateway(async () => said("x"));
    const broken = ask(QUESTION, [HUBS]);
    await expect(gather(broken.run)).resolves.toBeDefined();
    now += 15 * 60_000;
    await gather(ask(QUESTION, [HUBS, LAST]).run);
    expect(calls()).toBe(2);
  });

  it("is not begun before it is written down", async () => {
    const seen: number[] = [];
    const { ask } = gateway(async () => {
      const other = new HubMemory(store);
      const answer = await other.answerTo(aTurn({ tools: [tool("look")], messages: QUESTION }));
      seen.push(answer.rounds.length);
      return said("x");
    });
    await gather(ask(QUESTION, [HUBS, LAST]).run);
    expect(seen).toEqual([1]);
  });
});
