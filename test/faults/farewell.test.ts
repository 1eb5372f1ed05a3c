import { describe, expect, it } from "vitest";
import type { Run } from "../../src/core/driver.ts";
import type { ToolMessage } from "../../src/core/turn.ts";
import { aTurn, open, read, setUpDriver, user } from "../drivers/cursor/support/driver-stage.ts";

const look = { name: "look", description: "looks", schema: { type: "object", properties: {} } };
const CALL = '@sim call look {"at":"x"} ;; say it said {{result}}';
const COUNTED = { maxResets: Number.POSITIVE_INFINITY };

/** Answers the calls of a run that waits. */
async function giveResults(run: Run, prompt: string): Promise<void> {
  const { events } = await read(run);
  const calls = events.filter((event) => event.type === "tool-call");
  const results = calls.map(
    ({ id }): ToolMessage => ({ role: "tool", callId: id, content: [{ type: "text", text: "seen" }], isError: false }),
  );
  expect(run.submitResults(results, [user(prompt), { role: "assistant", content: calls }, ...results])).toBe(true);
}

describe.each(["h2", "h1"] as const)("the end of a run over %s", (transport) => {
  it("100 good answers reset nothing, and each leaves its checkpoint", async () => {
    const { driver, sim, trace, checkpoints } = await setUpDriver(transport, {}, COUNTED);
    for (let round = 0; round < 10; round++) {
      const runs = Array.from({ length: 10 }, (_, index) => open(driver, aTurn([user(`@sim say ${round} ${index}`)])));
      const answers = await Promise.all(runs.map(read));
      expect(answers.map(({ text, error }) => error ?? text)).toEqual(answers.map((_, index) => `${round} ${index}`));
    }
    await expect.poll(() => [checkpoints.size, sim.stats().openRuns]).toEqual([100, 0]);
    expect(trace.filter(({ kind }) => kind === "reset")).toEqual([]);
    expect(sim.stats()).toMatchObject({ resets: 0 });
  });

  it("100 answers that waited for tool results reset nothing", async () => {
    const { driver, sim, trace } = await setUpDriver(transport, {}, COUNTED);
    for (let round = 0; round < 10; round++) {
      const runs = Array.from({ length: 10 }, () => open(driver, aTurn([user(CALL)], { tools: [look] })));
      await Promise.all(runs.map((run) => giveResults(run, CALL)));
      const answers = await Promise.all(runs.map(read));
      expect(answers.map(({ text, error }) => error ?? text)).toEqual(answers.map(() => "it said seen"));
    }
    await expect.poll(() => sim.stats().openRuns).toBe(0);
    expect(trace.filter(({ kind }) => kind === "reset")).toEqual([]);
    expect(sim.stats()).toMatchObject({ resets: 0 });
  });

  it("a cancelled run is cancelled in the protocol's words, while it streams and while it waits", async () => {
    const { driver, sim, trace } = await setUpDriver(transport, {}, COUNTED);
    const cancels = () => trace.filter(({ kind }) => kind === "conversation_action").length;
    for await (const _ of open(driver, aTurn([user("@sim say a ;; silent 60000")]))) break;
    await expect.poll(() => [cancels(), sim.stats().openRuns]).toEqual([1, 0]);
    const waiting = open(driver, aTurn([user(CALL)], { tools: [look] }));
    await read(waiting);
    expect(sim.stats().openRuns).toBe(1);
    waiting.cancel();
    await expect.poll(() => [cancels(), sim.stats().openRuns]).toEqual([2, 0]);
    expect(trace.filter(({ kind }) => kind === "reset" || kind === "violation")).toEqual([]);
  });

  it("a run is reset where the backend does not listen", async () => {
    const { driver, sim, trace } = await setUpDriver(transport, {}, COUNTED);
    const run = open(driver, aTurn([user("@sim say a ;; fault stall")]));
    await expect.poll(() => trace.some(({ kind }) => kind === "fault")).toBe(true);
    run.cancel();
    await expect.poll(() => sim.stats().openRuns, { timeout: 10_000 }).toBe(0);
    expect(trace.filter(({ kind }) => kind === "reset")).toHaveLength(1);
    expect(sim.stats().resets).toBe(transport === "h2" ? 1 : 0);
  });

  it("a stream that the backend keeps open after the turn is closed from our side", async () => {
    const { driver, sim, trace, checkpoints } = await setUpDriver(transport, {}, COUNTED);
    expect((await read(open(driver, aTurn([user("@sim say a ;; fault keep-open")])))).text).toBe("a");
    await expect.poll(() => checkpoints.size).toBe(1);
    expect(sim.stats().openRuns).toBe(1);
    await expect.poll(() => sim.stats().openRuns, { timeout: 10_000 }).toBe(0);
    expect(sim.stats().resets).toBe(0);
    expect(trace.filter(({ kind }) => kind === "conversation_action")).toEqual([]);
  });

  it("a checkpoint that comes after the end of the turn is kept", async () => {
    const { driver, sim, checkpoints } = await setUpDriver(transport, {}, COUNTED);
    await read(open(driver, aTurn([user("@sim say a ;; fault late-checkpoint")])));
    await expect.poll(() => checkpoints.size, { timeout: 5000 }).toBe(1);
    await expect.poll(() => sim.stats()).toMatchObject({ openRuns: 0, resets: 0 });
  });
});
