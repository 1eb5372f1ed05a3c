import { describe, expect, it } from "vitest";
import type { Run, RunContext } from "../../../src/core/driver.ts";
import type { HubCallEntry } from "../../../src/core/engine/call-log.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { historyKeys } from "../../../src/core/history/history-key.ts";
import { HubMemory } from "../../../src/core/hub/hub-memory.ts";
import { HubRun } from "../../../src/core/hub/hub-run.ts";
import type { HubResult, ToolHub } from "../../../src/core/hub/tool-hub.ts";
import type { Message, ToolMessage, Turn } from "../../../src/core/turn.ts";
import { aTurn, done, gather, text, textIn, usage } from "../support/turns.ts";

type Leg = readonly (readonly TurnEvent[])[];

const call = (id: string, name: string, args = {}): TurnEvent => ({ type: "tool-call", id, name, args });
const start = (id: string, name: string): TurnEvent => ({ type: "tool-call-start", id, name });
const delta = (id: string): TurnEvent => ({ type: "tool-call-delta", id, json: "{}" });
const said = (value: string): HubResult => ({ content: [{ type: "text", text: value }], isError: false });
const result = (callId: string, value = "x"): ToolMessage => ({ role: "tool", callId, ...said(value) });
const ours = (callId: string, value: string): ToolMessage => ({ ...result(callId, value), isHubs: true });
const tool = (name: string) => ({ name, description: "", schema: { type: "object" } });

/** A driver whose runs play these legs, one after each answer; a run of `false` cannot go on with results. */
function stage({
  legs,
  goesOn = true,
  tools = ["hub__a", "hub__b"],
  act,
  turn = {},
  maxSteps = 10,
}: {
  readonly legs: readonly Leg[];
  readonly goesOn?: boolean;
  readonly tools?: readonly string[];
  readonly act?: (name: string, signal: AbortSignal) => Promise<HubResult>;
  readonly turn?: Partial<Turn>;
  readonly maxSteps?: number;
}) {
  const answered: { results: readonly ToolMessage[]; history: readonly Message[] }[] = [];
  const opened: Turn[] = [];
  let [at, cancelled] = [0, 0];
  const called: string[] = [];
  const hub: ToolHub = {
    open: async () => ({
      tools: tools.map(tool),
      placeOf: (name) => ({ server: "srv", serverTool: name.slice(5) }),
      call: async (name, _args, { signal, onProgress }) => {
        called.push(name);
        onProgress?.({ done: 1, total: 2, message: "half" });
        return act ? act(name, signal) : said(`${name} did it`);
      },
    }),
  };
  const open = (given: Turn, _context: RunContext): Run => {
    opened.push(given);
    return {
      async *[Symbol.asyncIterator]() {
        yield* legs[at++] ?? [];
      },
      submitResults: (results, history) => {
        answered.push({ results, history });
        return goesOn;
      },
      cancel: () => {
        cancelled++;
      },
    };
  };
  const context = { requestId: "r", signal: new AbortController().signal };
  const nameOf = (id: string) => `out-${id}`;
  const entries: HubCallEntry[] = [];
  const callLog = (entry: HubCallEntry) => entries.push(entry);
  const run = new HubRun({ hub, memory: new HubMemory(), turn: aTurn(turn), context, open, nameOf, maxSteps, callLog });
  return { run, entries, answered, opened, called, cancelled: () => cancelled };
}

const shown = (events: readonly TurnEvent[]) => events.filter(({ type }) => type !== "notice");

describe("a run with the tools of the hub", () => {
  it("makes our calls itself and is read on until the final word", async () => {
    const { run, answered, opened } = stage({
      legs: [
        [
          [text("let me see ")],
          [start("1", "hub__a"), delta("1")],
          [call("1", "hub__a"), call("2", "hub__b"), done("tool-calls")],
        ],
        [[call("3", "hub__a", { again: 1 }), done("tool-calls")]],
        [[text("it is so"), usage(), done()]],
      ],
    });
    const events = await gather(run);
    expect(shown(events)).toEqual([text("let me see "), text("it is so"), usage(), done()]);
    expect(events).toContainEqual({ type: "notice", code: "tool_progress", text: "hub__a: 1/2 half" });
    expect(opened.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["hub__a", "hub__b"]]);
    expect(answered.map(({ results }) => results)).toEqual([
      [ours("1", "hub__a did it"), ours("2", "hub__b did it")],
      [ours("3", "hub__a did it")],
    ]);
  });

  it("says what becomes of each call: to the log, and to the client", async () => {
    const { run, entries } = stage({
      act: async (name) => ({ ...said("äh"), isError: name === "hub__b" }),
      legs: [[[call("1", "hub__a", { secret: 1 }), call("2", "hub__b"), done("tool-calls")]], [[text("x"), done()]]],
    });
    const events = await gather(run);
    const notices = events.flatMap((event) => (event.type === "notice" ? [event.text] : []));
    expect(notices).toEqual([
      "hub__a: started",
      "hub__a: 1/2 half",
      "hub__b: started",
      "hub__b: 1/2 half",
      expect.stringMatching(/^hub__a: done after \d+ ms$/),
      expect.stringMatching(/^hub__b: failed after \d+ ms$/),
    ]);
    const place = { principalId: "p", requestId: "r", server: "srv" };
    const first = { ...place, callId: "1", tool: "hub__a", serverTool: "a" };
    const second = { ...place, callId: "2", tool: "hub__b", serverTool: "b" };
    expect(entries.filter(({ callId }) => callId === "1")).toEqual([
      { ...first, type: "asked" },
      { ...first, type: "started" },
      { ...first, type: "finished", outcome: "ok", ms: expect.any(Number), bytes: 3 },
    ]);
    expect(entries.at(-1)).toMatchObject({ ...second, type: "finished", outcome: "error" });
  });

  it("shows calls as activity to a client that shows activity", async () => {
    const { run } = stage({
      turn: { showsActivity: true },
      legs: [[[call("1", "hub__a"), done("tool-calls")]], [[text("x"), done()]]],
    });
    const shownStates = (await gather(run)).flatMap((event) =>
      event.type === "activity" && event.activity.type === "tool" ? [[event.activity.id, event.activity.status]] : [],
    );
    expect(shownStates).toEqual([
      ["1", "running"],
      ["1", "running"],
      ["1", "completed"],
    ]);
  });

  it("the client's history and ours have the same key", async () => {
    const { run, answered } = stage({
      legs: [
        [[text("a"), call("1", "hub__a"), done("tool-calls")]],
        [[text("b"), call("2", "hub__a", { x: 1 }), done("tool-calls")]],
        [[text("c"), done()]],
      ],
    });
    await gather(run);
    const { messages } = aTurn();
    const whole = [
      ...(answered[1]?.history ?? []),
      { role: "assistant", content: [{ type: "text", text: "c" }] } as const,
    ];
    expect(whole).toHaveLength(6);
    const clients: Message[] = [...messages, { role: "assistant", content: [{ type: "text", text: "a\n\nb\n\nc" }] }];
    expect(historyKeys(whole).at(-1)).toBe(historyKeys(clients).at(-1));
    expect(historyKeys(whole).at(-1)).not.toBe(historyKeys(messages).at(-1));
  });

  it.each([
    ["nothing", ["before"], ["after"], "before\n\nafter"],
    ["empty pieces", ["before", ""], ["", "after"], "before\n\nafter"],
    ["white space at the end", ["before\n"], ["after"], "before\nafter"],
    ["white space at the beginning", ["before"], [" after"], "before after"],
    ["no text before", [], ["after"], "after"],
  ])("separates the texts around a round of tools by a blank line: %s", async (_, before, after, expected) => {
    const { run, answered } = stage({
      legs: [
        [[...before.map(text), call("1", "hub__a"), done("tool-calls")]],
        [[{ type: "thinking", text: "hm" }, ...after.map(text), done()]],
      ],
    });
    const said = textIn(await gather(run));
    expect(said).toBe(expected);
    // What the client sends back is the history that the upstream's checkpoint stands for.
    const last: Message = { role: "assistant", content: after.map((value) => ({ type: "text", text: value })) };
    const echo: Message = { role: "assistant", content: [{ type: "text", text: said }] };
    const whole = [...(answered[0]?.history ?? []), last];
    expect(historyKeys(whole).at(-1)).toBe(historyKeys([...aTurn().messages, echo]).at(-1));
  });

  it("in a batch of both, ours are made while the client has its own", async () => {
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { run, answered, called } = stage({
      turn: { tools: [tool("look")] },
      act: async (name) => {
        await slow;
        return said(`${name} did it`);
      },
      legs: [
        [[text("first "), call("0", "hub__b"), done("tool-calls")]],
        [
          [start("1", "hub__a"), start("2", "look")],
          [call("1", "hub__a"), call("2", "look"), done("tool-calls")],
        ],
        [[text("end"), done()]],
      ],
    });
    // The first leg is ours alone.
    setImmediate(finish);
    const first = shown(await gather(run));
    expect(first).toEqual([text("first "), start("2", "look"), call("2", "look"), done("tool-calls")]);
    expect(called).toEqual(["hub__b", "hub__a"]);
    const { messages } = aTurn();
    const history: Message[] = [
      ...messages,
      {
        role: "assistant",
        content: [
          { type: "text", text: "first " },
          { type: "tool-call", id: "out-2", name: "look", args: {} },
        ],
      },
      result("out-2", "seen"),
    ];
    expect(run.submitResults([result("2", "seen")], history)).toBe(true);
    expect(shown(await gather(run))).toEqual([text("end"), done()]);
    expect(answered[1]?.results).toEqual([ours("1", "hub__a did it"), result("2", "seen")]);
    // All of it is there, in order, and the client's call has the client's name for it.
    expect(answered[1]?.history.slice(messages.length)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "first " },
          { ...call("0", "hub__b"), isHubs: true },
        ],
      },
      ours("0", "hub__b did it"),
      { role: "assistant", content: [{ ...call("1", "hub__a"), isHubs: true }, call("out-2", "look")] },
      ours("1", "hub__a did it"),
      result("out-2", "seen"),
    ]);
    expect(historyKeys(answered[1]?.history ?? []).at(-1)).toBe(historyKeys(history).at(-1));
  });

  it("an upstream that cannot go on is told everything anew", async () => {
    const { run, opened } = stage({
      goesOn: false,
      legs: [[[text("a"), call("1", "hub__a"), done("tool-calls")]], [[text("b"), done()]]],
    });
    expect(shown(await gather(run))).toEqual([text("a"), text("\n\nb"), done()]);
    expect(opened[1]?.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "a" },
          { ...call("1", "hub__a"), isHubs: true },
        ],
      },
      ours("1", "hub__a did it"),
    ]);
  });

  it("a tool of the client's with the same name is the client's", async () => {
    const { run, called, opened } = stage({
      turn: { tools: [tool("hub__a")] },
      legs: [[[call("1", "hub__a"), done("tool-calls")]]],
    });
    expect(await gather(run)).toEqual([call("1", "hub__a"), done("tool-calls")]);
    expect(called).toEqual([]);
    expect(opened[0]?.tools.map(({ name }) => name)).toEqual(["hub__a", "hub__b"]);
  });

  it("what each leg cost is added up", async () => {
    const { run } = stage({
      legs: [[[call("1", "hub__a"), usage(), done("tool-calls")]], [[text("b"), usage(), done()]]],
    });
    expect(
      shown(await gather(run))
        .filter(({ type }) => type === "usage")
        .at(-1),
    ).toEqual(usage({ inputTokens: 20, outputTokens: 10, cachedTokens: 8, cacheWrittenTokens: 4, reasoningTokens: 2 }));
  });

  it("the same call with the same result over and over is told so, and in the end ended", async () => {
    const { run, answered, called, cancelled } = stage({
      legs: Array.from({ length: 20 }, (_, n) => [[call(String(n), "hub__a"), done("tool-calls")]]),
      maxSteps: 50,
    });
    const events = await gather(run);
    expect(called).toHaveLength(3);
    expect(answered[3]?.results[0]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("the same result 3 times") }],
    });
    expect(events.slice(-2)).toEqual([expect.objectContaining({ code: "tool_loop" }), done("length")]);
    expect(cancelled()).toBe(1);
  });

  it("a call whose result changes is progress, up to the limit of steps", async () => {
    let count = 0;
    const { run, called, answered } = stage({
      act: async () => said(String(count++)),
      legs: [
        ...Array.from({ length: 5 }, (_, n): Leg => [[call(String(n), "hub__a"), done("tool-calls")]]),
        [[text("well"), done()]],
      ],
      maxSteps: 4,
    });
    expect(shown(await gather(run))).toEqual([text("well"), done()]);
    expect(called).toHaveLength(4);
    expect(answered[4]?.results[0]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("limit of 4 steps") }],
    });
  });

  it("calls under way end when the run is cancelled", async () => {
    const { run } = stage({
      act: (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      legs: [[[call("1", "hub__a"), done("tool-calls")]]],
    });
    const reading = expect(gather(run)).rejects.toMatchObject({ name: "AbortError" });
    setImmediate(() => run.cancel());
    await reading;
  });

  it("without tools there is nothing to add", async () => {
    const { run, opened } = stage({ tools: [], legs: [[[text("a"), done()]]] });
    expect(await gather(run)).toEqual([text("a"), done()]);
    expect(opened[0]?.tools).toEqual([]);
  });
});
