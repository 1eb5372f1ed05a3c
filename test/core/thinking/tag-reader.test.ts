import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import { TagReader } from "../../../src/core/thinking/tag-reader.ts";
import { done, text, thinking, usage } from "../support/turns.ts";

const call: TurnEvent = { type: "tool-call", id: "c", name: "t", args: {} };

describe("thinking that a model writes into its text", () => {
  it.each<[string, readonly TurnEvent[], readonly TurnEvent[]]>([
    [
      "between tags",
      [text("<think>h"), text("m</think>\n\nok")],
      [thinking("h"), thinking("m"), { type: "thinking-done", durationMs: 5 }, text("ok")],
    ],
    [
      "with the longer name",
      [text("<thinking>\nhm\n</thinking>ok")],
      [thinking("hm"), { type: "thinking-done", durationMs: 0 }, text("ok")],
    ],
    ["ended by a call", [text("<think>hm"), call], [thinking("hm"), { type: "thinking-done", durationMs: 5 }, call]],
    [
      "ended by the end",
      [text("<think>hm"), usage(), done()],
      [thinking("hm"), usage(), { type: "thinking-done", durationMs: 5 }, done()],
    ],
    [
      "nested, which it cannot be",
      [text("<think>a<think>b</think>c")],
      [thinking("a<think>b"), { type: "thinking-done", durationMs: 0 }, text("c")],
    ],
    ["a beginning that comes to nothing", [text("<thi"), done()], [text("<thi"), done()]],
    ["in the middle of a line it is text", [text("say <think> to think")], [text("say <think> to think")]],
    [
      "an id that it has copied",
      [text("<think>a</think>\n```plaintext:thinkId:x```\nb")],
      [thinking("a"), { type: "thinking-done", durationMs: 0 }, text("b")],
    ],
  ])("%s", (_, events, expected) => {
    let now = 0;
    const reader = new TagReader(() => now);
    const told = events.flatMap((event) => {
      const out = reader.step(event);
      now += 5;
      return out;
    });
    const joined = told.map((event) =>
      event.type === "thinking-done" && event.durationMs > 5 ? { ...event, durationMs: 5 } : event,
    );
    expect(joined).toEqual(expected);
  });

  it("gives out what it holds when it is told to, and still knows what it was", () => {
    const reader = new TagReader(() => 0);
    expect(reader.step(text("a\n<thin"))).toEqual([text("a\n")]);
    expect(reader.isHolding).toBe(true);
    expect(reader.release()).toEqual([text("<thin")]);
    expect(reader.isHolding).toBe(false);
    expect(reader.step(text("k>b"))).toEqual([thinking("b")]);
  });
});
