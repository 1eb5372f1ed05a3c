import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { createEngine } from "../../../src/core/engine/engine.ts";
import { CANCELED, ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { SchemaChecker } from "../../../src/core/schema-checker.ts";
import type { JsonObject, ToolDefinition, Turn } from "../../../src/core/turn.ts";
import { createSchemaChecker } from "../../../src/schema/schema-checker.ts";
import {
  aTurn,
  done,
  gather,
  type ScriptedDriver,
  scriptedDriver,
  text,
  textIn,
  thinking,
  usage,
} from "../support/turns.ts";

const schemas = createSchemaChecker();
afterAll(() => schemas.close());
afterEach(() => {
  vi.useRealTimers();
});

const tool = (name: string, schema: JsonObject = {}): ToolDefinition => ({
  name,
  description: "",
  schema: { type: "object", ...schema },
});
const call: TurnEvent = { type: "tool-call", id: "c", name: "look", args: {} };
const CALLS = [[call, done("tool-calls")]];

function ask(
  driver: ScriptedDriver,
  toolChoice: Turn["toolChoice"],
  tools: readonly ToolDefinition[] = [tool("look"), tool("jump")],
  checker: SchemaChecker = schemas,
) {
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d", schemas: checker });
  const turn = aTurn({ tools, toolChoice, system: "Be brief." });
  return gather(engine.run(turn, { requestId: "r", signal: new AbortController().signal }));
}

describe("a forced tool call", () => {
  it("is asked for, and the only tool offered where one is named", async () => {
    const driver = scriptedDriver(CALLS);
    const events = await ask(driver, { type: "tool", name: "look" });
    expect(events.map(({ type }) => type)).toEqual(["tool-call", "usage", "done"]);
    expect(driver.turns[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
    expect(driver.turns[0]?.system).toMatch(/^Be brief\.\n\nAnswer by calling the tool "look"/);
  });

  it("offers all tools where any will do, and shows what is said before the call", async () => {
    const driver = scriptedDriver([
      [thinking("hm"), text("Let me ")],
      [text("look."), ...(CALLS[0] ?? [])],
    ]);
    const events = await ask(driver, { type: "required" });
    expect(events.map(({ type }) => type)).toEqual(["thinking", "text", "tool-call", "usage", "done"]);
    expect(textIn(events)).toBe("Let me look.");
    expect(driver.turns[0]?.tools).toHaveLength(2);
  });

  it("is asked for once more, with what was said instead, which nobody sees", async () => {
    const driver = scriptedDriver([[text("I would rather talk."), usage(), done()]], CALLS);
    const events = await ask(driver, { type: "required" });
    expect(textIn(events)).toBe("");
    expect(events.map(({ type }) => type)).toEqual(["tool-call", "usage", "done"]);
    expect(driver.turns[1]?.messages.slice(-2)).toMatchObject([
      { role: "assistant", content: [{ text: "I would rather talk." }] },
      { role: "user", content: [{ text: expect.stringContaining("no tool call") }] },
    ]);
  });

  it("that never comes is an error, and not the words instead of it", async () => {
    const driver = scriptedDriver([[text("no"), done()]], [[text("no"), done()]]);
    await expect(ask(driver, { type: "required" })).rejects.toMatchObject({
      code: "tool_not_called",
      retryable: false,
    });
    expect(driver.turns).toHaveLength(2);
  });

  it("is not asked for twice when the answer was cut short", async () => {
    const events = await ask(scriptedDriver([[text("so"), done("length")]]), { type: "required" });
    expect(events.at(-1)).toEqual(done("length"));
  });
});

describe("a forced call that the model writes as text", () => {
  const look = tool("look", { properties: { at: { type: "string" } }, required: ["at"] });
  const jump = tool("jump", {
    properties: { at: { type: "string" }, height: { type: "number" } },
    required: ["height"],
  });
  const stop = tool("stop", { properties: {} });
  const open = tool("open", { additionalProperties: { type: "string" } });
  const slow = tool("slow", { properties: { at: { $async: true } } });

  const said = (words: string) => scriptedDriver([[text(words), usage(), done()]], [[text("no"), usage(), done()]]);
  const LOOK = { type: "tool", name: "look" } as const;

  it.each<[string, string, Turn["toolChoice"], ToolDefinition[], string, JsonObject]>([
    ["the arguments", '{"at":"a"}', LOOK, [look, jump], "look", { at: "a" }],
    ["in a code fence", 'Sure:\n```json\n{"at":"a"}\n```', LOOK, [look], "look", { at: "a" }],
    ["after a lead-in", 'Here is the call: {"at":"a"}\n', LOOK, [look], "look", { at: "a" }],
    ["on lines of its own", 'I will look there.\n\n{\n  "at": "a{b}"\n}', LOOK, [look], "look", { at: "a{b}" }],
    ["with its name", '{"name":"look","arguments":{"at":"a"}}', LOOK, [look], "look", { at: "a" }],
    [
      "with its name, arguments as text",
      '{"name":"look","input":"{\\"at\\":\\"a\\"}"}',
      LOOK,
      [look],
      "look",
      { at: "a" },
    ],
    [
      "of the only tool that it matches",
      '{"height":1}',
      { type: "required" },
      [look, jump, stop],
      "jump",
      { height: 1 },
    ],
    [
      "of a tool that is named among others",
      '{"name":"stop","parameters":{}}',
      { type: "required" },
      [look, stop, open],
      "stop",
      {},
    ],
    ["of a tool without parameters", "{}", { type: "required" }, [look, stop], "stop", {}],
    [
      "of the only tool, whose schema mentions nothing",
      '{"x":1}',
      { type: "tool", name: "stop" },
      [stop],
      "stop",
      { x: 1 },
    ],
    ["of a tool that takes any member", '{"x":"y"}', { type: "required" }, [look, stop, open], "open", { x: "y" }],
  ])("counts: %s", async (_, words, choice, tools, name, args) => {
    const driver = said(words);
    const events = await ask(driver, choice, tools);
    const id = expect.stringMatching(/^sess_[\w-]{22}__call_0$/);
    expect(events).toEqual([{ type: "tool-call", id, name, args }, usage(), done("tool-calls")]);
    expect(driver.turns).toHaveLength(1);
  });

  it("counts after the reminder, too, and both attempts are paid for", async () => {
    const driver = scriptedDriver([[text("no"), usage(), done()]], [[text('{"at":"a"}'), usage(), done()]]);
    const events = await ask(driver, LOOK, [look]);
    expect(events.map(({ type }) => type)).toEqual(["tool-call", "usage", "done"]);
    expect(events[1]).toMatchObject({ usage: { inputTokens: 20 } });
  });

  it.each<[string, string, Turn["toolChoice"], ToolDefinition[]]>([
    ["arguments that do not match", '{"at":1}', LOOK, [look]],
    ["members that the tool does not have", '{"at":"a","answer":1}', LOOK, [look]],
    ["arguments in the middle of a sentence", 'I would say {"at":"a"}.', LOOK, [look]],
    ["arguments at the end of a sentence", 'I would say {"at":"a"}', LOOK, [look]],
    ["arguments that are followed by words", 'For example: {"at":"a"}\nBut I do not know.', LOOK, [look]],
    ["two objects", 'Either: {"at":"a"}\nOr: {"at":"b"}', LOOK, [look]],
    ["what is no object", '["a"]', { type: "required" }, [look, stop]],
    ["what two tools match", '{"at":"a"}', { type: "required" }, [look, open]],
    ["what no tool mentions", '{"answer":42}', { type: "required" }, [look, stop]],
    ["the name of a tool that is not offered", '{"name":"jump","arguments":{"height":1}}', LOOK, [look, jump]],
    ["a tool whose schema cannot be used", '{"at":"a"}', { type: "required" }, [slow]],
  ])("does not count: %s", async (_, words, choice, tools) => {
    const driver = said(words);
    await expect(ask(driver, choice, tools)).rejects.toMatchObject({ code: "tool_not_called" });
    expect(driver.turns).toHaveLength(2);
  });

  it("is searched for under one deadline, however many tools have costly schemas (SEC-26)", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const begun = Date.now();
    const tools = Array.from({ length: 20 }, (_, n) => tool(`t${n}`, { properties: { at: { minLength: n } } }));
    const driver = said('{"at":"a"}');
    const ended = ask(driver, { type: "required" }, tools, costly(3000)).then(
      () => "answered",
      (error: ExcursorError) => ({ code: error.code, ms: Date.now() - begun }),
    );
    let outcome: Awaited<typeof ended> | undefined;
    void ended.then((value) => {
      outcome = value;
    });
    while (outcome === undefined) await vi.advanceTimersByTimeAsync(500);
    expect(outcome).toEqual({ code: "tool_not_called", ms: expect.any(Number) });
    // The fake clock goes in steps; one costly schema after the other would take a minute.
    expect((outcome as { readonly ms: number }).ms).toBeLessThanOrEqual(6000);
    expect(driver.turns).toHaveLength(2);
  });
});

/** Refuses every schema as too costly, each after so long. */
const costly = (ms: number): SchemaChecker => ({
  open: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      if (signal.aborted) reject(CANCELED);
      signal.addEventListener("abort", () => reject(CANCELED), { once: true });
      setTimeout(() => reject(new ExcursorError("invalid-request", "It is too costly.")), ms);
    }),
});
