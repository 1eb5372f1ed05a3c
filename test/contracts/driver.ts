import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Driver, Run } from "../../src/core/driver.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent, Usage } from "../../src/core/events.ts";
import type { Message, ToolMessage, Turn } from "../../src/core/turn.ts";
import { aTurn } from "../core/support/turns.ts";

/**
 * What the upstream does with a question:
 * - `text`: it answers in words and ends.
 * - `endless`: it says something and then goes on without end.
 * - `failing`: it answers with an error.
 * - `calling`: it calls the tool `look` once, and says something after the result.
 */
export type Behaviour = "text" | "endless" | "failing" | "calling";

export interface DriverFixture {
  /** Whether the upstream calls tools of the client. If not, `calling` is not asked for. */
  readonly callsTools: boolean;
  /** Whether the upstream reports the usage of a finished answer. */
  readonly reportsUsage: boolean;
  /** Sets up the driver in front of an upstream that behaves so. It is cleaned up with the test. */
  setUp(behaviour: Behaviour): Promise<DriverStage>;
}

interface DriverStage {
  readonly driver: Driver;
  /** What to ask; the suite adds the rest of the turn. */
  readonly question: string;
  readonly model: string;
  /** How many answers the upstream is working on. */
  openAnswers(): number;
}

const LOOK = {
  name: "look",
  description: "Looks.",
  schema: { type: "object", properties: { at: { type: "string" } } },
};

const OWNER = { id: "owner", token: undefined } as const;

/** The rules of `Driver` and `Run` in src/core/driver.ts, for one driver. */
export function describeDriver(name: string, fixture: DriverFixture): void {
  describe(`the driver ${name}`, () => {
    const before = new Map<string, number>();
    beforeAll(() => {
      for (const kind of RESOURCES) before.set(kind, activeOf(kind));
    });

    it("answers in batches of events and ends with one done", async () => {
      const { driver, run, openAnswers } = await open(fixture, "text");
      const { batches, error } = await read(run);
      expect(error).toBeUndefined();
      expect(batches.every((batch) => batch.length > 0)).toBe(true);
      const events = batches.flat();
      expect(events.filter(({ type }) => type === "done")).toEqual([events.at(-1)]);
      expect(textOf(events)).not.toBe("");
      expectOneUsage(events, fixture);
      expectOver(run);
      await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      await driver.close?.();
    });

    it("fails with an ExcursorError and without a done", async () => {
      const { run, openAnswers } = await open(fixture, "failing");
      const { batches, error } = await read(run);
      expect(error).toBeInstanceOf(ExcursorError);
      expect(batches.flat().some(({ type }) => type === "done")).toBe(false);
      expectOver(run);
      await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
    });

    it("cancels the upstream when its reader leaves early", async () => {
      const { run, openAnswers } = await open(fixture, "endless");
      for await (const batch of run) {
        if (textOf(batch) === "") continue;
        await vi.waitFor(() => expect(openAnswers()).toBe(1), WAIT);
        break;
      }
      await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      expectOver(run);
    });

    it("is cancelled once, however often", async () => {
      const { run, openAnswers } = await open(fixture, "endless");
      const reading = read(run, async (batch) => {
        if (textOf(batch) === "") return;
        await vi.waitFor(() => expect(openAnswers()).toBe(1), WAIT);
        run.cancel();
        run.cancel();
      });
      expect((await reading).error).toMatchObject({ kind: "canceled" });
      await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      expectOver(run);
    });

    it("leaves nothing behind when it is cancelled before the upstream was asked", async () => {
      const { run, openAnswers } = await open(fixture, "endless");
      run.cancel();
      expect((await read(run)).error).toMatchObject({ kind: "canceled" });
      await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      expectOver(run);
    });

    it("lists models under names of their own, and stops waiting with its signal", async () => {
      const { driver } = await fixture.setUp("text");
      const ids = (await driver.listModels(OWNER, new AbortController().signal)).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const outcome = await driver.listModels(OWNER, AbortSignal.abort()).catch((error: unknown) => error);
      expect(Array.isArray(outcome) || outcome instanceof ExcursorError).toBe(true);
    });

    it("warms up without a request for an answer, and without failing", async () => {
      const { driver, openAnswers } = await fixture.setUp("text");
      await driver.prewarm?.();
      expect(openAnswers()).toBe(0);
    });

    describe.runIf(fixture.callsTools)("with tools of the client", () => {
      it("waits for the results, takes them once, and goes on", async () => {
        const { run, turn, openAnswers } = await open(fixture, "calling");
        const first = (await read(run)).batches.flat();
        expect(first.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
        // Some upstreams report only when the whole run is over.
        expect(finalUsages(first).length).toBeLessThanOrEqual(1);
        const { results, history } = answersTo(turn, first);
        expect(run.submitResults([], turn.messages)).toBe(false);
        expect(run.submitResults(results, history)).toBe(true);
        expect(run.submitResults(results, history)).toBe(false);
        const { batches, error } = await read(run);
        expect(error).toBeUndefined();
        const second = batches.flat();
        expect(second.filter(({ type }) => type === "done")).toEqual([second.at(-1)]);
        expect(textOf(second)).not.toBe("");
        expectOneUsage(second, fixture);
        expect(run.submitResults(results, history)).toBe(false);
        expectOver(run);
        await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      });

      it("is dropped while it waits", async () => {
        const { run, turn, openAnswers } = await open(fixture, "calling");
        const events = (await read(run)).batches.flat();
        run.cancel();
        run.cancel();
        const { results, history } = answersTo(turn, events);
        expect(run.submitResults(results, history)).toBe(false);
        await vi.waitFor(() => expect(openAnswers()).toBe(0), WAIT);
      });
    });

    // After the clean-up of the last test.
    afterAll(async () => {
      const left = () => RESOURCES.filter((kind) => activeOf(kind) > (before.get(kind) ?? 0));
      // Not by a timer: timers are among what is counted.
      for (const until = Date.now() + WAIT.timeout; left().length > 0 && Date.now() < until; ) await setImmediate();
      expect(left()).toEqual([]);
    }, 2 * WAIT.timeout);
  });
}

/** Long enough for a loaded machine; what is waited for takes milliseconds. */
const WAIT = { timeout: 10_000, interval: 10 };

/** What keeps a process alive: timers, sockets, servers, programs. */
const RESOURCES = ["Timeout", "TCPSocketWrap", "TCPServerWrap", "ProcessWrap"] as const;

const activeOf = (kind: string): number => process.getActiveResourcesInfo().filter((one) => one === kind).length;

async function open(fixture: DriverFixture, behaviour: Behaviour) {
  const { driver, question, model, openAnswers } = await fixture.setUp(behaviour);
  const turn = aTurn({
    principal: OWNER,
    model: { id: model, effort: undefined },
    messages: [{ role: "user", content: [{ type: "text", text: question }] }],
    tools: behaviour === "calling" ? [LOOK] : [],
    // Has running counts sent, too.
    maxOutputTokens: 1000,
  });
  return { driver, turn, openAnswers, run: driver.open(turn, { requestId: "r1" }) };
}

/** Reads one loop of a run to its end. */
async function read(run: Run, onBatch: (batch: readonly TurnEvent[]) => unknown = () => {}) {
  const batches: (readonly TurnEvent[])[] = [];
  let error: unknown;
  try {
    for await (const batch of run) {
      batches.push(batch);
      await onBatch(batch);
    }
  } catch (thrown) {
    error = thrown;
  }
  return { batches, error };
}

/** A run that is over takes nothing, and may be cancelled all the same. */
function expectOver(run: Run): void {
  run.cancel();
  run.cancel();
  expect(run.submitResults([], [])).toBe(false);
}

const textOf = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

const usagesIn = (events: readonly TurnEvent[]): Usage[] =>
  events.flatMap((event) => (event.type === "usage" ? [event.usage] : []));

const finalUsages = (events: readonly TurnEvent[]): Usage[] => usagesIn(events).filter(({ isEstimate }) => !isEstimate);

/** The upstream's figures come once, after all running counts; those never shrink. */
function expectOneUsage(events: readonly TurnEvent[], { reportsUsage }: DriverFixture): void {
  const usages = usagesIn(events);
  const [final, ...more] = finalUsages(events);
  expect([final !== undefined, more]).toEqual([reportsUsage, []]);
  if (final) {
    const { inputTokens, outputTokens, cachedTokens, cacheWrittenTokens, reasoningTokens } = final;
    expect(usages.at(-1)).toBe(final);
    expect(inputTokens).toBeGreaterThanOrEqual(cachedTokens + cacheWrittenTokens);
    expect(outputTokens).toBeGreaterThanOrEqual(Math.max(1, reasoningTokens));
  }
  const running = usages.filter(({ isEstimate }) => isEstimate).map(({ outputTokens }) => outputTokens);
  expect(running).toEqual(running.toSorted((a, b) => a - b));
}

/** The results of all calls, and the conversation with them. */
function answersTo(turn: Turn, events: readonly TurnEvent[]) {
  const calls = events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
  expect(calls.map(({ name }) => name)).toEqual(["look"]);
  const results = calls.map(
    ({ id }): ToolMessage => ({
      role: "tool",
      callId: id,
      content: [{ type: "text", text: "seen" }],
      isError: false,
    }),
  );
  const history: Message[] = [...turn.messages, { role: "assistant", content: calls }, ...results];
  return { results, history };
}
