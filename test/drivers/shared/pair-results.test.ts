import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/core/turn.ts";
import { pairResults } from "../../../src/drivers/shared/pair-results.ts";

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const calls = (...ids: string[]): Message => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool-call", id, name: `tool-${id}`, args: {} })),
});
const result = (callId: string, text = callId): Message => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError: false,
});
const shape = (messages: readonly Message[]) =>
  messages.map((message) => {
    const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return message.role === "tool" ? `tool ${message.callId}: ${text}` : `${message.role}: ${text}`;
  });

describe("results directly behind their calls", () => {
  it.each<[string, Message[], string[]]>([
    [
      "in the order of the calls",
      [calls("1", "2"), result("2"), result("1")],
      ["assistant: ", "tool 1: 1", "tool 2: 2"],
    ],
    ["before a word in between", [calls("1"), user("wait"), result("1")], ["assistant: ", "tool 1: 1", "user: wait"]],
    [
      "one that is missing says so",
      [calls("1"), user("never mind")],
      ["assistant: ", "tool 1: The result was not provided.", "user: never mind"],
    ],
    [
      "each answer for itself, where ids come again",
      [calls("1"), result("1", "a"), calls("1"), user("go on")],
      ["assistant: ", "tool 1: a", "assistant: ", "tool 1: The result was not provided.", "user: go on"],
    ],
  ])("%s", (_, messages, expected) => {
    expect(shape(pairResults(messages))).toEqual(expected);
  });
});
