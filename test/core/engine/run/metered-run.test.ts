import { describe, expect, it } from "vitest";
import type { Driver, Run } from "../../../../src/core/driver.ts";
import { createEngine, type EngineOptions } from "../../../../src/core/engine/engine.ts";
import { ExcursorError } from "../../../../src/core/errors.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { ToolHub } from "../../../../src/core/hub/tool-hub.ts";
import { ignoredNotice } from "../../../../src/core/notices/ignored.ts";
import type { RunMeter } from "../../../../src/core/run-meter.ts";
import type { Message, ToolDefinition, Turn } from "../../../../src/core/turn.ts";
import {
  aTurn,
  done,
  gather,
  type ScriptedDriver,
  scriptedDriver,
  text,
  thinking,
  usage,
} from "../../support/turns.ts";

/** 100 tokens to read, by estimate. */
const TURN = aTurn({ system: "x".repeat(396) });
const INPUT = 100;
const FAILED = new ExcursorError("upstream-failed", "It failed.");
const CALL: TurnEvent = { type: "tool-call", id: "1", name: "tool", args: {} };
const TOOL: ToolDefinition = { name: "tool", description: "", schema: {} };

function setUp(driver: Driver, more: Partial<EngineOptions> = {}) {
  const charges: number[] = [];
  const meter: RunMeter = { used: ({ inputTokens, outputTokens }) => charges.push(inputTokens + outputTokens) };
  const abort = new AbortController();
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d", ...more });
  const ask = (turn: Turn = TURN, tools?: "hub") =>
    engine.run(turn, { requestId: "r", signal: abort.signal, meter, tools });
  return { ask, abort, engine, charges, total: () => charges.reduce((sum, tokens) => sum + tokens, 0) };
}

/** Reads so many batches, then leaves. */
async function leaveAfter(batches: number, answer: AsyncIterable<readonly TurnEvent[]>): Promise<void> {
  const iterator = answer[Symbol.asyncIterator]();
  for (let n = 0; n < batches; n++) await iterator.next();
  await iterator.return?.();
}

/** Says nothing until it is cancelled. */
const silentDriver = (): Driver => ({
  listModels: async () => [],
  open: (): Run => {
    const { promise, reject } = Promise.withResolvers<IteratorResult<readonly TurnEvent[]>>();
    promise.catch(() => {});
    return {
      [Symbol.asyncIterator]: () => ({ next: () => promise }),
      submitResults: () => false,
      cancel: () => reject(new ExcursorError("canceled", "Cancelled.")),
    };
  },
});

describe("the tokens of an answer are counted", () => {
  it.each<[string, readonly (readonly TurnEvent[])[], number]>([
    ["by the upstream's figures", [[text("abcd")], [usage({ inputTokens: 70, outputTokens: 9 }), done()]], 79],
    ["by estimate where it gives none", [[thinking("abcd"), text("abcdefgh")], [done()]], INPUT + 3],
    ["by the larger one where its figures are an estimate", [[text("abcd"), usage({ isEstimate: true }), done()]], 105],
  ])("%s", async (_, batches, tokens) => {
    const { ask, total } = setUp(scriptedDriver(batches));
    await gather(ask());
    expect(total()).toBe(tokens);
  });

  it("when the reader leaves before the end", async () => {
    const batches = [[text("abcd")], [text("efgh")], [usage(), done()]];
    const { ask, total } = setUp(scriptedDriver(batches));
    await leaveAfter(2, ask());
    expect(total()).toBe(INPUT + 2);
  });

  it("when the client is gone before the first event", async () => {
    const { ask, abort, total } = setUp(silentDriver());
    const gathered = gather(ask());
    abort.abort();
    await expect(gathered).rejects.toMatchObject({ kind: "canceled" });
    expect(total()).toBe(INPUT);
  });

  it("when it fails after the first event", async () => {
    const { ask, total } = setUp(scriptedDriver([[text("abcd")], FAILED]));
    await expect(gather(ask())).rejects.toMatchObject({ kind: "upstream-failed" });
    expect(total()).toBe(INPUT + 1);
  });

  it("not when it fails before", async () => {
    const { ask, total } = setUp(scriptedDriver([[ignoredNotice("effort")], FAILED]));
    await expect(gather(ask())).rejects.toMatchObject({ kind: "upstream-failed" });
    expect(total()).toBe(0);
  });

  it.each<[string, Partial<Turn>]>([
    ["max_tokens", { maxOutputTokens: 2 }],
    ["a stop sequence", { stop: ["STOP"] }],
  ])("when %s ends it: all that the upstream has said", async (_, limits) => {
    const said = "12345678STOP";
    const { ask, total } = setUp(scriptedDriver([[text(said)], [usage(), done()]]));
    await gather(ask({ ...TURN, ...limits }));
    expect(total()).toBe(INPUT + said.length / 4);
  });

  it("of both attempts at structured output, and of one that is left in between", async () => {
    const turn = { ...TURN, output: { type: "json" } } as Turn;
    const attempts = (): ScriptedDriver => scriptedDriver([[text("no json!"), done()]], [[text("{}"), done()]]);
    const whole = setUp(attempts());
    await gather(whole.ask(turn));
    // The second one reads the first one and what is wrong with it.
    expect(whole.total()).toBeGreaterThan(2 * INPUT + 2);
    const left = setUp(scriptedDriver([[text("{")], [text('"a":1')], [done()]]));
    const answer = left.ask(turn)[Symbol.asyncIterator]();
    void answer.next().catch(() => {});
    await new Promise(setImmediate);
    left.abort.abort();
    await answer.return?.();
    expect(left.total()).toBeGreaterThanOrEqual(INPUT);
  });

  it("of each round of hub tools, also when the reader leaves between them", async () => {
    const legs = [
      [[text("abcd"), { ...CALL, name: "hub__a" }, usage({ inputTokens: 50, outputTokens: 10 }), done("tool-calls")]],
      [[text("abcdefgh")], [done()]],
    ] as const;
    let at = 0;
    const driver: Driver = {
      listModels: async () => [],
      open: () => ({
        async *[Symbol.asyncIterator]() {
          yield* legs[at++] ?? [];
        },
        submitResults: () => true,
        cancel: () => {},
      }),
    };
    const hub: ToolHub = {
      open: async () => ({
        tools: [{ ...TOOL, name: "hub__a" }],
        placeOf: () => undefined,
        call: async () => ({ content: [{ type: "text", text: "done" }], isError: false }),
      }),
    };
    const { ask, total } = setUp(driver, { hub });
    const seen: TurnEvent[] = [];
    for await (const batch of ask(TURN, "hub")) {
      seen.push(...batch);
      if (batch.some((event) => event.type === "text" && event.text.endsWith("abcdefgh"))) break;
    }
    // The first round by its figures, the second by estimate: it reads all that came before.
    expect(total()).toBeGreaterThanOrEqual(60 + INPUT + 2);
    expect(seen.some(({ type }) => type === "done")).toBe(false);
  });

  it("once for a run that is parked and dropped, and again when its results are brought", async () => {
    let at = 0;
    const legs = [[[CALL, done("tool-calls")]], [[text("abcd"), usage({ inputTokens: 7, outputTokens: 3 }), done()]]];
    const driver: Driver = {
      listModels: async () => [],
      open: () => ({
        async *[Symbol.asyncIterator]() {
          yield* legs[at++] ?? [];
        },
        submitResults: () => true,
        cancel: () => {},
      }),
    };
    const turn = { ...TURN, tools: [TOOL] };
    const { ask, charges, total, engine } = setUp(driver);
    const events = await gather(ask(turn));
    const before = total();
    expect(before).toBeGreaterThan(INPUT);
    const call = events.find((event) => event.type === "tool-call");
    const messages: Message[] = [
      ...turn.messages,
      { role: "assistant", content: [call as typeof CALL & { type: "tool-call" }] },
      { role: "tool", callId: call?.id ?? "", content: [{ type: "text", text: "r" }], isError: false },
    ];
    await gather(ask({ ...turn, messages }));
    expect(total()).toBe(before + 10);
    const count = charges.length;
    engine.close();
    expect(charges).toHaveLength(count);
  });
});

it("a run has failed if its upstream reports an error after the answer (fact 25)", async () => {
  const scripted = scriptedDriver([[text("abcd"), done()]]);
  let onLateError: (() => void) | undefined;
  const driver: Driver = {
    ...scripted,
    open: (turn, context) => {
      onLateError = context.onLateError;
      return scripted.open(turn, context);
    },
  };
  const endings: string[] = [];
  const watch = { sent: () => {}, corrected: () => {}, ended: (ending: string) => void endings.push(ending) };
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d" });
  const meter: RunMeter = { used: () => {}, opens: () => watch };
  await gather(engine.run(TURN, { requestId: "r", signal: new AbortController().signal, meter }));
  onLateError?.();
  expect(endings).toEqual(["completed", "failed"]);
});
