import { describe, expect, it, vi } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { assistant, aTurn, open, read, setUpDriver, user } from "./support/driver-stage.ts";

const TOOL = { name: "look", description: "", schema: { type: "object" } } as const;
const MODEL = { id: "gpt-5.5", effort: "high" };

const kinds = (trace: readonly TraceEntry[]) =>
  trace.flatMap(({ kind }) => (["prewarm_request", "bootstrap", "run_request"].includes(kind) ? [kind] : []));

const untilBootstrapped = (trace: readonly TraceEntry[]) =>
  vi.waitFor(() => expect(kinds(trace)).toContain("bootstrap"), 10_000);

describe.each(["h2", "h1"] as const)("a prewarmed turn over %s", (transport) => {
  it("has its bootstrap before the run request, and none after it", async () => {
    const { driver, trace } = await setUpDriver(transport, {}, { bootstrapMs: 50 });
    await driver.prewarm?.(aTurn([], { model: MODEL, tools: [TOOL], system: "some instructions" }));
    await untilBootstrapped(trace);
    const turn = aTurn([user("@sim call look {} ;; say {{system}} {{model}}")], {
      model: MODEL,
      tools: [TOOL],
      system: "more instructions",
    });
    const run = open(driver, turn);
    const asked = await read(run);
    const call = asked.events.find((event) => event.type === "tool-call");
    expect(call).toMatchObject({ name: "look" });
    run.cancel();
    expect(kinds(trace)).toEqual(["prewarm_request", "bootstrap", "run_request"]);
    const [prewarm, request] = trace.filter(({ kind }) => kind === "prewarm_request" || kind === "run_request");
    const conversation = (entry: TraceEntry | undefined) =>
      Object.values((entry?.message ?? {}) as Record<string, { conversationId?: string }>)[0]?.conversationId;
    expect(conversation(prewarm)).toBe(conversation(request));
    expect(prewarm?.run).toBe(request?.run);
  });

  it.each([
    ["another principal", { principal: { id: "p2", token: undefined } }],
    ["other tools", { tools: [] }],
    ["a conversation that goes on", { messages: [user("a"), assistant("b"), user("@sim say hello")] }],
  ])("leaves it to nobody else: %s", async (what, change) => {
    const { driver, trace } = await setUpDriver(transport);
    if (what === "a conversation that goes on") {
      await driver.prewarm?.(aTurn([user("a"), assistant("b")], { model: MODEL, tools: [TOOL] }));
    } else {
      await driver.prewarm?.(aTurn([], { model: MODEL, tools: [TOOL] }));
      await untilBootstrapped(trace);
    }
    const turn = aTurn([user("@sim say hello")], { model: MODEL, tools: [TOOL], ...change });
    expect(await read(open(driver, turn))).toMatchObject({ text: "hello", error: undefined });
    const runs = new Set(trace.flatMap(({ kind, run }) => (/^(prewarm|run)_request$/.test(kind) ? [run] : [])));
    expect(runs.size).toBe(what === "a conversation that goes on" ? 1 : 2);
    await driver.close?.();
  });

  it("asks again on a new stream if the prepared one has died", async () => {
    const { driver, trace } = await setUpDriver(transport);
    await driver.prewarm?.(aTurn([], { model: MODEL }));
    await untilBootstrapped(trace);
    const turn = aTurn([user("@sim fault refused times=1 ;; say at last")], { model: MODEL });
    const { text, error } = await read(open(driver, turn));
    expect([text, error]).toEqual(["at last", undefined]);
    expect(kinds(trace).filter((kind) => kind === "run_request")).toHaveLength(2);
  });

  it("is closed with the driver", async () => {
    const { driver, trace } = await setUpDriver(transport);
    await driver.prewarm?.(aTurn([], { model: MODEL }));
    await untilBootstrapped(trace);
    await driver.close?.();
    await vi.waitFor(() => expect(trace.some(({ kind }) => kind === "reset" || kind === "end")).toBe(true), 10_000);
  });
});
