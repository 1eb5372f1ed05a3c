import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../../src/core/turn.ts";
import type { ResolvedModel } from "../../../../src/drivers/cursor/models/model.ts";
import { fitContext } from "../../../../src/drivers/cursor/request/context-window.ts";
import { assistant, aTurn, user } from "../support/driver-stage.ts";

const model = (contextTokens: number) => ({ contextTokens, displayId: "m", supportsImages: true }) as ResolvedModel;
const LONG = "x".repeat(4000);

const calls = (...ids: string[]): Message => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool-call", id, name: "look", args: {} })),
});
const result = (callId: string, text = "seen"): Message => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError: false,
});
const trim = (messages: readonly Message[], tokens: number) => fitContext(aTurn(messages), model(tokens), "trim");

describe("a conversation that is trimmed", () => {
  it("loses its oldest turns, each as a whole, and says how many messages that were", () => {
    const messages = [user(LONG), calls("call_one"), result("call_one"), user("two"), assistant("b"), user("three")];
    expect(trim(messages, 500)).toMatchObject({ trimmedMessages: 3, turn: { messages: messages.slice(3) } });
    expect(trim(messages, 10_000)).toEqual({ trimmedMessages: 0, turn: aTurn(messages) });
  });

  it.each([
    ["a text", user("What did call_one show?")],
    [
      "the arguments of a call",
      { role: "assistant", content: [{ type: "tool-call", id: "c", name: "n", args: { of: "call_one" } }] },
    ],
  ] as [string, Message][])("keeps a call with its result where a later turn refers to it by %s", (_, reference) => {
    const messages = [
      user(LONG),
      calls("call_one", "call_two"),
      result("call_one"),
      result("call_two"),
      user("go on"),
      reference,
      user("end"),
    ];
    const { turn, trimmedMessages } = trim(messages, 500);
    expect(turn.messages).toEqual([calls("call_one"), result("call_one"), ...messages.slice(4)]);
    expect(trimmedMessages).toBe(2);
  });

  it("counts a message once whose calls are all kept", () => {
    const ids = ["call_1", "call_2", "call_3", "call_4", "call_5"];
    const messages = [user(LONG), calls(...ids), ...ids.map((id) => result(id)), assistant("a"), user(ids.join(" "))];
    expect(trim(messages, 500).trimmedMessages).toBe(2);
  });

  it("keeps the call of a result that a later turn brings", () => {
    const messages = [user(LONG), calls("call_one"), user("wait"), assistant("yes"), result("call_one"), user("end")];
    expect(trim(messages, 500).turn.messages).toEqual([calls("call_one"), ...messages.slice(2)]);
  });

  it("counts what it keeps: where that is too much, more turns go", () => {
    const messages = [
      user("one"),
      calls("call_one"),
      result("call_one", LONG),
      user("see call_one"),
      assistant("b"),
      user("end"),
    ];
    expect(trim(messages, 900).turn.messages).toEqual(messages.slice(5));
    expect(() => trim([...messages.slice(0, 3), user("see call_one")], 900)).toThrow(/cannot be trimmed/);
  });

  it("never exceeds the window, and leaves no result without its call, whatever the conversation", () => {
    const id = fc.constantFrom("call_aaaa", "call_bbbb", "call_cccc");
    const turn = fc
      .tuple(fc.integer({ min: 0, max: 4000 }), fc.uniqueArray(id), id)
      .map(([size, ids, mentioned]) => [
        user(`${mentioned} ${"x".repeat(size)}`),
        calls(...ids),
        ...ids.map((one) => result(one)),
      ]);
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
        const messages = [...turns.flat(), user("end")];
        const { messages: kept } = trim(messages, 1200).turn;
        const chars = JSON.stringify(
          kept.flatMap(({ content }) => content.flatMap((part) => (part.type === "text" ? part.text : []))),
        );
        expect(chars.length / 4).toBeLessThan(1200 + 20 * kept.length);
        const open = new Set<string>();
        for (const message of kept) {
          if (message.role === "tool") expect(open.has(message.callId)).toBe(true);
          if (message.role === "assistant")
            for (const part of message.content) if (part.type === "tool-call") open.add(part.id);
        }
      }),
    );
  });
});

it("a conversation that is refused is as long as it is told", () => {
  expect(() => fitContext(aTurn([user(LONG)]), model(500), "refuse")).toThrow(
    /has about 1000 tokens, but the context window of m has 500/,
  );
});
