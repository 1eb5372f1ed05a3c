import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/core/turn.ts";
import { CallMemory, type GivenMessage } from "../../../src/faces/shared/tools/call-memory.ts";

const user = (text: string): GivenMessage => ({ role: "user", content: [{ type: "text", text }] });
const called = (...calls: { readonly id?: string; readonly name?: string; readonly at: string }[]): GivenMessage => ({
  role: "assistant",
  content: calls.map(({ id = "", name = "look", at }) => ({ type: "tool-call", id, name, args: { at, b: 1 } })),
});
const result = (text: string, { id, name }: { readonly id?: string; readonly name?: string } = {}): GivenMessage => ({
  role: "tool",
  callId: id,
  name,
  field: "here",
  content: [{ type: "text", text }],
  isError: false,
});
const idsIn = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === "tool"
      ? [message.callId]
      : message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : [])),
  );

describe("the memory of call ids", () => {
  const asked = [user("do it")];
  const remember = async (memory: CallMemory, principal = "p") => {
    const { conversation } = await memory.restore(principal, asked);
    const args = { b: 1, at: "a" };
    memory.keep(conversation, [
      { id: "ours-1", name: "look", args },
      { id: "ours-2", name: "look", args: { ...args, at: "b" } },
    ]);
  };

  it.each([
    ["drops them", called({ at: "a" }, { at: "b" }), result("x"), result("y")],
    [
      "replaces them",
      called({ id: "1", at: "a" }, { id: "2", at: "b" }),
      result("x", { id: "1" }),
      result("y", { id: "2" }),
    ],
    [
      "names only tools",
      called({ at: "a" }, { at: "b" }),
      result("x", { name: "look" }),
      result("y", { name: "look" }),
    ],
  ])("finds them again if the client %s", async (_, ...follow) => {
    const memory = new CallMemory();
    await remember(memory);
    expect(idsIn((await memory.restore("p", [...asked, ...follow])).messages)).toEqual([
      "ours-1",
      "ours-2",
      "ours-1",
      "ours-2",
    ]);
  });

  it("keeps principals, conversations and arguments apart", async () => {
    const memory = new CallMemory();
    await remember(memory);
    const follow = [called({ id: "1", at: "a" }, { id: "2", at: "b" })];
    expect(idsIn((await memory.restore("q", [...asked, ...follow])).messages)).toEqual(["1", "2"]);
    expect(idsIn((await memory.restore("p", [user("do that"), ...follow])).messages)).toEqual(["1", "2"]);
    const other = [...asked, called({ id: "1", at: "b" }, { id: "2", at: "a" })];
    expect(idsIn((await memory.restore("p", other)).messages)).toEqual(["1", "2"]);
  });

  it("gives calls without an id one that stays the same, and never the same id twice", async () => {
    const follow = [...asked, called({ at: "a" }, { at: "a" }), result("x"), result("y")];
    const [first, second, ...answered] = idsIn((await new CallMemory().restore("p", follow)).messages);
    expect([answered, first === second]).toEqual([[first, second], false]);
    expect(idsIn((await new CallMemory().restore("p", follow)).messages)[0]).toBe(first);
    const twice = [...asked, called({ id: "1", at: "a" }, { id: "1", at: "b" })];
    expect(new Set(idsIn((await new CallMemory().restore("p", twice)).messages)).size).toBe(2);
  });

  it("gives results to calls by id, then by name, then by order", async () => {
    const calls = called(
      { id: "1", name: "a", at: "" },
      { id: "2", name: "b", at: "" },
      { id: "3", name: "a", at: "" },
    );
    const given = [...asked, calls, result("x", { name: "b" }), result("y", { id: "3" }), result("z")];
    expect(idsIn((await new CallMemory().restore("p", given)).messages).slice(3)).toEqual(["2", "3", "1"]);
  });

  it.each([[result("x", { id: "9" })], [result("x", { name: "other" })]])(
    "refuses a result of no call",
    async (wrong) => {
      const given = [...asked, called({ id: "1", at: "a" }), wrong];
      expect(() => new CallMemory().restore("p", given)).toThrow(/^here: no open/);
    },
  );

  it("forgets the oldest answers first", async () => {
    const memory = new CallMemory();
    await remember(memory);
    for (let index = 0; index < 4096; index++) memory.keep(String(index), [{ id: "x", name: "look", args: {} }]);
    const follow = [...asked, called({ id: "1", at: "a" }, { id: "2", at: "b" })];
    expect(idsIn((await memory.restore("p", follow)).messages)).toEqual(["1", "2"]);
  });
});
