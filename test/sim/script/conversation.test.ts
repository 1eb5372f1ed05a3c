import { describe, expect, it } from "vitest";
import { describeHistory, type Message, scriptOf, splitTurns } from "../../../src/sim/script/conversation.ts";
import { parseScripts } from "../../../src/sim/script/parse.ts";
import { stepsDone } from "../../../src/sim/script/progress.ts";
import { Tally } from "../../../src/sim/script/tally.ts";

const user = (text: string): Message => ({ role: "user", text, images: [] });
const says = (text: string): Message => ({ role: "assistant", text, calls: [] });
const calls = (...names: string[]): Message => ({
  role: "assistant",
  text: "",
  calls: names.map((name) => ({ id: name, name, args: {} })),
});
const results = (...texts: string[]): Message => ({
  role: "tool",
  results: texts.map((text) => ({ callId: "", text })),
});

describe("turns", () => {
  it.each<[string, Message[], string[]]>([
    ["a finished answer ends a turn", [user("a"), says("x"), user("b")], ["a", "b"]],
    ["an open call does not", [user("a"), calls("t"), user("b")], ["a\nb"]],
    ["nor does an answered one: the answer goes on", [user("a"), calls("t"), results("r"), user("b")], ["a\nb"]],
    ["text after the results does", [user("a"), calls("t"), results("r"), says("x"), user("b")], ["a", "b"]],
    ["adjacent assistant messages are one answer", [user("a"), says("x"), calls("t"), user("b")], ["a\nb"]],
    ["in either order", [user("a"), calls("t"), says("x"), user("b")], ["a\nb"]],
    ["several user messages are one turn", [user("a"), user("b")], ["a\nb"]],
    ["what comes before the first is nobody's", [says("hello"), results("r"), user("a")], ["a"]],
  ])("%s", (_, messages, texts) => {
    expect(splitTurns(messages).map(({ text }) => text)).toEqual(texts);
  });

  it("a turn knows its calls and results", () => {
    const [turn] = splitTurns([user("a"), calls("t", "u"), results("1", "2"), calls("v"), results("3")]);
    expect(turn?.calls.map(({ name }) => name)).toEqual(["t", "u", "v"]);
    expect(turn?.results).toEqual(["1", "2", "3"]);
  });

  it("orders results by their calls, whatever order they came in", () => {
    const answers = ["u", "t"].map((id) => ({ callId: id, text: `of ${id}` }));
    const [turn] = splitTurns([user("a"), calls("t", "u"), { role: "tool", results: answers }]);
    expect(turn?.results).toEqual(["of t", "of u"]);
  });

  it("takes the script of the last turn, or what an earlier one left for it", () => {
    const of = (...texts: string[]) => scriptOf(splitTurns(texts.flatMap((text) => [user(text), says("x")])))?.source;
    expect(of("@sim say a ;; next ;; say b")).toBe("say a");
    expect(of("@sim say a ;; next ;; say b", "hm")).toBe("say b");
    expect(of("@sim say a ;; next ;; say b", "hm", "hm")).toBeUndefined();
    expect(of("@sim say a ;; next ;; say b", "@sim say c", "hm")).toBeUndefined();
  });

  it("describes the history a line a message", () => {
    expect(describeHistory([user("a\nb"), says(""), calls("t"), results("r", "s")])).toBe(
      "user: a\\nb\nassistant: \nassistant: [t {}]\ntool: r\ntool: s",
    );
  });
});

describe("progress", () => {
  const script = '@sim say a ;; call t {"n":1} ;; call u {} ;; exec shell {} ;; call t {"n":2} ;; say z';
  const steps = parseScripts(script)[0]?.steps ?? [];
  it.each<[string, [string, object][], number]>([
    ["nothing done", [], 0],
    ["up to the call that matches", [["t", { n: 1 }]], 2],
    ["by name and arguments", [["t", { n: 2 }]], 5],
    [
      "a call that matches none belongs to the next exec",
      [
        ["t", { n: 1 }],
        ["u", {}],
        ["bash", { c: 1 }],
      ],
      4,
    ],
    ["everything up to the last match is done", [["u", {}]], 3],
    [
      "calls of a batch may have changed places",
      [
        ["u", {}],
        ["t", { n: 1 }],
      ],
      3,
    ],
    [
      "and no further",
      [
        ["t", { n: 1 }],
        ["u", {}],
        ["bash", {}],
        ["t", { n: 2 }],
        ["other", {}],
      ],
      5,
    ],
  ])("%s", (_, done, expected) => {
    expect(
      stepsDone(
        steps,
        done.map(([name, args]) => ({ name, args: args as never })),
      ),
    ).toBe(expected);
  });
});

describe("the tally of faults", () => {
  it("counts by account, script and step, and forgets a script that completed", () => {
    const tally = new Tally();
    expect([1, 2, 3].map(() => tally.take("me", "s", 0, 2))).toEqual([true, true, false]);
    expect(tally.take("you", "s", 0, 1)).toBe(true);
    expect(tally.take("me", "s", 1, 1)).toBe(true);
    tally.forget("me", "s");
    expect(tally.take("me", "s", 0, 1)).toBe(true);
    expect(tally.take("you", "s", 0, 1)).toBe(false);
  });

  it("is bounded: the oldest scripts go first", () => {
    const tally = new Tally(2);
    for (const script of ["a", "b", "c"]) tally.take("me", script, 0, 1);
    expect(tally.take("me", "a", 0, 1)).toBe(true);
    expect(tally.take("me", "c", 0, 1)).toBe(false);
  });
});
