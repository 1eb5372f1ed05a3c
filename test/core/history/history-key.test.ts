import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { historyKeys } from "../../../src/core/history/history-key.ts";
import type { AssistantPart, Message, UserPart } from "../../../src/core/turn.ts";

const user = (...content: UserPart[]): Message => ({ role: "user", content });
const assistant = (...content: AssistantPart[]): Message => ({ role: "assistant", content });
const text = (value: string) => ({ type: "text", text: value }) as const;
const image = (...data: number[]) => ({ type: "image", mediaType: "image/png", data: Uint8Array.from(data) }) as const;
const call = (id: string, args: Record<string, number>) => ({ type: "tool-call", id, name: "t", args }) as const;
const thought = { type: "thinking", text: "hm", signature: "s" } as const;
const result = (callId: string, value: string, isError = false): Message => ({
  role: "tool",
  callId,
  content: [text(value)],
  isError,
});

const keyOf = (...messages: Message[]) => historyKeys(messages).at(-1);

describe("the same history", () => {
  it.each<[string, Message, Message]>([
    ["text in other parts", user(text("ab"), text("c")), user(text("abc"))],
    ["empty parts", user(text("a"), text("")), user(text("a"))],
    ["empty content", assistant(), assistant(text(""))],
    ["reasoning", assistant(thought, text("a")), assistant(text("a"))],
    ["the order of keys", assistant(call("1", { a: 1, b: 2 })), assistant(call("1", { b: 2, a: 1 }))],
  ])("whatever becomes of %s", (_, one, other) => {
    expect(keyOf(one)).toBe(keyOf(other));
  });
});

describe("another history", () => {
  it.each<[string, Message, Message]>([
    ["text", user(text("a")), user(text("b"))],
    ["role", user(text("a")), assistant(text("a"))],
    ["image", user(image(1)), user(image(2))],
    ["file", user({ type: "file", name: "a", text: "x" }), user({ type: "file", name: "b", text: "x" })],
    ["call id", assistant(call("1", {})), assistant(call("2", {}))],
    ["arguments", assistant(call("1", { a: 1 })), assistant(call("1", { a: 2 }))],
    ["order of calls", assistant(call("1", {}), call("2", {})), assistant(call("2", {}), call("1", {}))],
    ["result", result("1", "a"), result("1", "b")],
    ["failure", result("1", "a"), result("1", "a", true)],
  ])("by its %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it("where a border between messages has moved", () => {
    expect(keyOf(user(text("ab")), user(text("c")))).not.toBe(keyOf(user(text("a")), user(text("bc"))));
  });
});

it("a prefix has the key that it has alone", () => {
  const message = fc.oneof(
    fc.string().map((value) => user(text(value))),
    fc.string().map((value) => assistant(text(value))),
    fc.string().map((value) => result("1", value)),
  );
  fc.assert(
    fc.property(fc.array(message), fc.nat(), (messages, at) => {
      const length = messages.length === 0 ? 0 : at % (messages.length + 1);
      const keys = historyKeys(messages);
      expect(keys).toHaveLength(messages.length + 1);
      expect(historyKeys(messages.slice(0, length))).toEqual(keys.slice(0, length + 1));
      expect(new Set(keys).size).toBe(keys.length);
    }),
  );
});
