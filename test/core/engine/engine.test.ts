import { describe, expect, it } from "vitest";
import type { Driver } from "../../../src/core/driver.ts";
import { createEngine } from "../../../src/core/engine/engine.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { ignoredNotice } from "../../../src/core/notices/ignored.ts";
import type { Turn } from "../../../src/core/turn.ts";
import { aTurn, done, gather, type ScriptedDriver, scriptedDriver, text, thinking, usage } from "../support/turns.ts";

const context = { requestId: "r", signal: new AbortController().signal };

const ask = (driver: ScriptedDriver, turn: Turn = aTurn()) =>
  createEngine({ drivers: new Map([["d", driver]]), route: () => "d" }).run(turn, context);

describe("the answer", () => {
  it("passes a batch on as it is where no rule applies", async () => {
    const batches = [[thinking("hm")], [text("a"), text("b")], [usage(), done()]];
    const seen: (readonly TurnEvent[])[] = [];
    for await (const batch of ask(scriptedDriver(batches))) seen.push(batch);
    expect(seen).toHaveLength(3);
    for (const [index, batch] of seen.entries()) expect(batch).toBe(batches[index]);
  });

  it("costs no turn of the event loop", async () => {
    let turns = 0;
    const count = () => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const batches = Array.from({ length: 100 }, () => [text("a")]);
    await gather(ask(scriptedDriver([...batches, [usage(), done()]])));
    clearImmediate(timer);
    expect(turns).toBe(0);
  });

  it("has an estimate of its usage where the upstream gave none", async () => {
    const turn = aTurn({ system: "x".repeat(40) });
    expect(await gather(ask(scriptedDriver([[thinking("1234"), text("123456789"), done()]]), turn))).toEqual([
      thinking("1234"),
      text("123456789"),
      usage({
        inputTokens: 11,
        outputTokens: 4,
        cachedTokens: 0,
        cacheWrittenTokens: 0,
        reasoningTokens: 1,
        isEstimate: true,
      }),
      done(),
    ]);
  });

  it("tells at once what of the sampling its driver cannot take, and that commits to nothing", async () => {
    const turn = aTurn({ sampling: { temperature: 0, seed: 1 } });
    const answer = ask(scriptedDriver([new ExcursorError("rate-limited", "Slow.")]), turn)[Symbol.asyncIterator]();
    expect((await answer.next()).value).toEqual(["temperature", "seed"].map((name) => ignoredNotice(name as "seed")));
    await expect(answer.next()).rejects.toMatchObject({ kind: "rate-limited", retryable: true });
    const taking = { ...scriptedDriver([[usage(), done()]]), takesSampling: true };
    expect(await gather(ask(taking, turn))).toEqual([usage(), done()]);
  });

  it("counts a call that is cut short, too, and no call twice", async () => {
    const call: TurnEvent = { type: "tool-call", id: "1", name: "tool", args: { a: "123456789" } };
    const pieces: TurnEvent[] = [
      { type: "tool-call-start", id: "1", name: "tool" },
      { type: "tool-call-delta", id: "1", json: '{"a":"123456789"}' },
    ];
    const outputOf = async (events: readonly TurnEvent[], over: Partial<Turn> = {}) => {
      const all = await gather(ask(scriptedDriver([events]), aTurn({ tools: [], ...over })));
      return all.find((event) => event.type === "usage")?.usage.outputTokens;
    };
    expect(await outputOf([call, done("tool-calls")])).toBe(6);
    expect(await outputOf([...pieces, call, done("tool-calls")])).toBe(6);
    expect(await outputOf([call, done("tool-calls")], { maxOutputTokens: 3 })).toBe(2);
  });

  it("ends at the first done, whatever the driver says after it", async () => {
    const events = await gather(ask(scriptedDriver([[usage(), done(), text("more"), done()]])));
    expect(events).toEqual([usage(), done()]);
  });

  it("that ends without a done is an error, and no answer", async () => {
    await expect(gather(ask(scriptedDriver([[text("a")]])))).rejects.toMatchObject({ kind: "upstream-protocol" });
  });

  it("has no empty batches where text is held back", async () => {
    const driver = scriptedDriver([[text("#")], [text("#")], [text("a")], [done()]]);
    for await (const batch of ask(driver, aTurn({ stop: ["###"] }))) expect(batch.length).toBeGreaterThan(0);
  });
});

describe("the upstream run", () => {
  it.each<[string, Partial<Turn>, readonly TurnEvent[], number]>([
    ["goes on to its own end", {}, [text("a"), usage(), done()], 0],
    ["is cancelled at a stop sequence", { stop: ["b"] }, [text("abc")], 1],
    ["is cancelled at the token limit", { maxOutputTokens: 1 }, [text("abcde")], 1],
    ["is kept while it waits for tools", {}, [usage(), done("tool-calls")], 0],
  ])("%s", async (_, over, events, cancelled) => {
    const driver = scriptedDriver([events]);
    await gather(ask(driver, aTurn(over)));
    expect(driver.cancelled()).toBe(cancelled);
  });

  it("is cancelled when the reader leaves", async () => {
    const driver = scriptedDriver([[text("a")], [text("b")], [done()]]);
    for await (const _ of ask(driver)) break;
    expect(driver.cancelled()).toBe(1);
  });

  it.each([
    ["a stop sequence", { stop: ["STOP"] }],
    ["the number of tokens", { maxOutputTokens: 1 }],
    ["the number of tokens, one call at a time", { maxOutputTokens: 1, allowsParallelCalls: false }],
  ])("is cancelled where %s cuts it in the batch that ends with its tool calls", async (_, limits) => {
    const call: TurnEvent = { type: "tool-call", id: "1", name: "tool", args: {} };
    const driver = scriptedDriver([[text("123456 STOP"), call, done("tool-calls")]]);
    const events = await gather(
      ask(driver, aTurn({ ...limits, tools: [{ name: "tool", description: "", schema: {} }] })),
    );
    expect(events.at(-1)).not.toMatchObject({ reason: "tool-calls" });
    expect(driver.cancelled()).toBe(1);
  });

  it("is not cancelled where it has ended by itself", async () => {
    const driver = scriptedDriver([[text("123456 STOP"), done()]]);
    await gather(ask(driver, aTurn({ stop: ["STOP"] })));
    expect(driver.cancelled()).toBe(0);
  });

  it("is not opened for a reader who never comes", () => {
    const driver = scriptedDriver([]);
    ask(driver);
    expect(driver.turns).toEqual([]);
  });
});

describe("errors", () => {
  const failure = new ExcursorError("upstream-unavailable", "Gone.", { retryAfterMs: 5, hint: "Wait." });

  it("are the driver's own before an answer has begun", async () => {
    await expect(gather(ask(scriptedDriver([failure])))).rejects.toBe(failure);
  });

  it("after that, are not to be retried by a client's own accord", async () => {
    await expect(gather(ask(scriptedDriver([[text("a")], failure])))).rejects.toMatchObject({
      kind: "upstream-unavailable",
      message: "Gone.",
      hint: "Wait.",
      retryAfterMs: 5,
      retryable: false,
    });
  });

  it("name a model that nobody serves", async () => {
    const engine = createEngine({ drivers: new Map(), route: () => undefined });
    await expect(gather(engine.run(aTurn(), context))).rejects.toMatchObject({
      kind: "model-not-found",
      field: "model",
    });
  });
});

it("lists what each driver answers for, without those that fail", async () => {
  const model = {
    displayName: "",
    aliases: [],
    contextTokens: 1,
    supportsImages: true,
    isThinking: false,
    efforts: [],
  };
  const withModels = (...ids: string[]) => ({
    ...scriptedDriver(),
    listModels: async () => ids.map((id) => ({ ...model, id })),
  });
  const away = { ...scriptedDriver(), listModels: () => Promise.reject(new ExcursorError("timeout", "away")) };
  const list = (drivers: readonly [string, Driver][]) =>
    createEngine({ drivers: new Map(drivers), route: (id) => id.slice(0, 1) }).listModels(
      aTurn().principal,
      context.signal,
    );
  const models = await list([
    ["a", withModels("a1", "b1")],
    ["b", withModels("b1", "b2")],
    ["c", away],
  ]);
  expect(models.map(({ id }) => id)).toEqual(["a1", "b1", "b2"]);
  await expect(list([["c", away]])).rejects.toMatchObject({ kind: "timeout" });
});
