import { describe, expect, it } from "vitest";
import { createEngine } from "../../src/core/engine.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import type { ToolDefinition, Turn } from "../../src/core/turn.ts";
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
} from "./support/turns.ts";

const tool = (name: string): ToolDefinition => ({ name, description: "", schema: { type: "object" } });
const call: TurnEvent = { type: "tool-call", id: "c", name: "look", args: {} };
const CALLS = [[call, done("tool-calls")]];

function ask(driver: ScriptedDriver, toolChoice: Turn["toolChoice"]) {
  const engine = createEngine({ drivers: new Map([["d", driver]]), route: () => "d" });
  const turn = aTurn({ tools: [tool("look"), tool("jump")], toolChoice, system: "Be brief." });
  return gather(engine.answer(turn, { requestId: "r", signal: new AbortController().signal }));
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
