import { expect, it } from "vitest";
import type { Driver, Run } from "../../../src/core/driver.ts";
import { createEngine } from "../../../src/core/engine/engine.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { RunPhase } from "../../../src/core/run-observer.ts";
import type { Message, ToolMessage } from "../../../src/core/turn.ts";
import { aTurn, done, gather, text } from "../support/turns.ts";

const LOOK = { name: "look", description: "", schema: { type: "object" } };
const asked: Message = { role: "user", content: [{ type: "text", text: "go" }] };

/** Says `planned` when it opens, calls a tool, and says hello once it has the result. */
function caller({ failsAfterResults = false } = {}): Driver {
  return {
    listModels: async () => [],
    open: ({ messages }, { observer }): Run => {
      let hasResults = messages.some(({ role }) => role === "tool");
      let isResumed = false;
      observer?.phase("planned", performance.now());
      return {
        async *[Symbol.asyncIterator]() {
          if (isResumed && failsAfterResults) throw new Error("stalled");
          if (hasResults) yield [text("hello"), done()];
          else yield [{ type: "tool-call", id: "1", name: "look", args: {} }, done("tool-calls")];
        },
        submitResults: () => {
          observer?.phase("opened", performance.now());
          isResumed = true;
          hasResults = true;
          return true;
        },
        cancel: () => {},
      };
    },
  };
}

/** Asks, then asks again with the result of the call. Returns the phases of both requests. */
async function phasesOf(driver: Driver, result: Partial<ToolMessage> = {}) {
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d" });
  const request = async (messages: readonly Message[]) => {
    const phases: RunPhase[] = [];
    const observer = { phase: (name: RunPhase, atMs: number) => void (atMs > 0 && phases.push(name)) };
    const { signal } = new AbortController();
    const events = await gather(
      engine.run(aTurn({ messages, tools: [LOOK] }), { requestId: "r", signal, observer }),
    ).catch((): TurnEvent[] => []);
    return { phases, events };
  };
  const first = await request([asked]);
  const call = first.events.find((event) => event.type === "tool-call");
  if (!call) throw new Error("no call");
  const answer: ToolMessage = { role: "tool", callId: call.id, content: [], isError: false, ...result };
  const second = await request([asked, { role: "assistant", content: [call] }, answer]);
  return [first.phases, second.phases];
}

it("a run that is parked and resumed tells each request its own phases", async () => {
  expect(await phasesOf(caller())).toEqual([
    ["planned", "first-event", "parked", "ended"],
    ["opened", "resumed", "first-event", "ended"],
  ]);
});

it("a resumed run that stalls is replayed", async () => {
  const [, second] = await phasesOf(caller({ failsAfterResults: true }));
  expect(second).toEqual(["opened", "resumed", "replayed", "planned", "first-event", "ended"]);
});

it("a follow-up whose run is unknown is replayed", async () => {
  const [, second] = await phasesOf(caller(), { callId: "sess_0123456789abcdefghijkl__call_0" });
  expect(second).toEqual(["replayed", "planned", "first-event", "ended"]);
});

it("a request that fails or is left has ended once", async () => {
  const failing: Driver = { ...caller(), open: () => ({ ...caller().open(aTurn(), { requestId: "r" }), ...broken }) };
  const engine = createEngine({ drivers: new Map([["d", failing]]), route: () => "d" });
  const phases: RunPhase[] = [];
  const context = {
    requestId: "r",
    signal: new AbortController().signal,
    observer: { phase: (name: RunPhase) => void phases.push(name) },
  };
  await expect(gather(engine.run(aTurn(), context))).rejects.toThrow();
  expect(phases).toEqual(["ended"]);
  const talking: Driver = { ...caller(), open: () => ({ ...caller().open(aTurn(), { requestId: "r" }), ...endless }) };
  const other = createEngine({ drivers: new Map([["d", talking]]), route: () => "d" });
  const left = other.run(aTurn(), context)[Symbol.asyncIterator]();
  await left.next();
  await left.return?.();
  await left.return?.();
  expect(phases).toEqual(["ended", "first-event", "ended"]);
});

const endless = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: [text("a")] }) }),
};

const broken = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("broken")) }),
};
