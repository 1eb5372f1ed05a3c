import { describe, expect, it } from "vitest";
import { callIdOf, newRunId } from "../../../src/core/engine/run/call-names.ts";
import { historyKeys } from "../../../src/core/history/history-key.ts";
import { asSent, createSentCalls, keepCalls, reduced } from "../../../src/core/history/sent-calls.ts";
import type { AssistantMessage, JsonObject } from "../../../src/core/turn.ts";
import { aTurn } from "../support/turns.ts";

const schema = {
  type: "object",
  properties: {
    path: { type: "string" },
    all: { type: "boolean", default: false },
    options: { type: "object", properties: { depth: { default: 3 } }, default: {} },
    edits: { type: "array", items: { properties: { all: { default: false } } } },
  },
};
const edit = { name: "Edit", description: "", schema };

describe("the members that say nothing", () => {
  it.each<[what: string, args: JsonObject, left: JsonObject]>([
    ["a default", { path: "a", all: false }, { path: "a" }],
    ["null", { path: "a", other: null, all: null }, { path: "a" }],
    ["a default within", { options: { depth: 3, width: 1 } }, { options: { width: 1 } }],
    ["an object of defaults whose default is empty", { options: { depth: 3 } }, {}],
    ["a default within a list", { edits: [{ all: false }, { all: true }] }, { edits: [{}, { all: true }] }],
  ])("%s is left out", (_, args, left) => {
    expect(reduced(args, schema)).toEqual(left);
  });

  it.each<[what: string, args: JsonObject]>([
    ["another value", { all: true, path: "" }],
    ["a value of a member without a default", { path: "false", other: false, zero: 0, list: [], text: "" }],
    ["null in a list", { edits: [null, { path: "a" }] }],
    ["a member that the schema inherits from nowhere", { constructor: "x", toString: "y" }],
  ])("%s stays", (_, args) => {
    expect(reduced(args, schema)).toEqual(args);
  });
});

describe("a call that comes back", () => {
  const id = callIdOf(newRunId(), 0);
  const sent = { path: "a", edits: [{ path: "b" }] };
  const answer = (args: JsonObject): AssistantMessage => ({
    role: "assistant",
    content: [{ type: "tool-call", id, name: "Edit", args }],
  });
  const keyOf = (args: JsonObject, store = setUp(), tools = [edit]) =>
    historyKeys(asSent(aTurn({ messages: [answer(args)], tools }), store).messages).at(-1);
  const setUp = () => {
    const store = createSentCalls();
    keepCalls(store, aTurn({ tools: [edit] }), answer(sent));
    return store;
  };
  const whole = { edits: [{ all: false, path: "b" }], path: "a", all: false };

  it("is the same with the schema's defaults, and has the key as it was sent", () => {
    expect(keyOf(whole)).toBe(historyKeys([answer(sent)]).at(-1));
  });

  it("is the same later, whatever tools the request offers", () => {
    const store = setUp();
    expect(keyOf(whole, store, [])).not.toBe(keyOf(sent));
    keyOf(whole, store);
    expect(keyOf(whole, store, [])).toBe(keyOf(sent));
  });

  it.each<[what: string, args: JsonObject]>([
    ["with another value", { ...whole, path: "b" }],
    ["with more than a default", { ...whole, all: true }],
    ["with less", { path: "a" }],
  ])("is another one %s", (_, args) => {
    expect(keyOf(args)).not.toBe(keyOf(sent));
  });

  it("keeps its arguments for the model", () => {
    const { messages } = asSent(aTurn({ messages: [answer(whole)], tools: [edit] }), setUp());
    expect(messages[0]?.content[0]).toMatchObject({ args: whole });
  });

  it("of another principal is not known", () => {
    const principal = { id: "somebody else", token: undefined };
    const turn = aTurn({ messages: [answer(whole)], tools: [edit], principal });
    expect(asSent(turn, setUp())).toBe(turn);
  });
});
