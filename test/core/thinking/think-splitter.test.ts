import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ThinkPart, ThinkSplitter } from "../../../src/core/thinking/think-splitter.ts";

/** Parts as one line: thinking in brackets, a done block as `|`, its id as `#id`. Joins what only the cut has split. */
function show(parts: readonly ThinkPart[]): string {
  let [shown, isThinking] = ["", false];
  for (const part of parts) {
    if (isThinking !== (part.type === "thinking")) {
      shown += isThinking ? "]" : part.type === "thinking" ? "[" : "";
      isThinking = part.type === "thinking";
    }
    if (part.type === "thinking-done") shown += "|";
    else if (part.type === "think-id") shown += `#${part.id} `;
    else shown += part.text;
  }
  return isThinking ? `${shown}]` : shown;
}

function split(pieces: readonly string[]): string {
  const splitter = new ThinkSplitter();
  return show([...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()]);
}

const N = "0a1b2c3d";
const CASES: readonly (readonly [name: string, input: string, shown: string])[] = [
  ["no tags", "a < b, <b>bold</b>, <thin, <think", "a < b, <b>bold</b>, <thin, <think"],
  ["one block", "<think>\nhm\n</think>\nyes", "[hm]|yes"],
  ["the longer tag", "<thinking>hm</thinking>yes", "[hm]|yes"],
  ["tags of two kinds", "<thinking>\nhm\n</think>\n\nyes", "[hm]|yes"],
  ["several blocks", "a\n<think>b</think>c\n<think>d</think>e", "a\n[b]|c\n[d]|e"],
  ["blocks without anything between", "<think>a</think><think>b</think>", "[a]|[b]|"],
  ["an empty block", "<think></think>a", "|a"],
  ["no end", "<think>\nhm </thin", "[hm </thin]|"],
  ["an end without a start", "a </think> b", "a </think> b"],
  ["nothing nests", "<think>a <think> b</think>c</think>", "[a <think> b]|c</think>"],
  ["an indented tag", "a\n  <think>b</think>c", "a\n  [b]|c"],
  ["a tag within a line", "say <think>, not more", "say <think>, not more"],
  ["a tag in inline code", "`<think>` it is", "`<think>` it is"],
  [
    "a tag in fenced code",
    "```html\n<think>\nx</think>\n```\n<think>y</think>",
    "```html\n<think>\nx</think>\n```\n[y]|",
  ],
  ["a fence in a fence", "````\n```\n<think>\n````\n<think>y</think>", "````\n```\n<think>\n````\n[y]|"],
  ["a tag between tildes", "~~~ a`b\n```\n<think>\n~~~\n<think>y</think>", "~~~ a`b\n```\n<think>\n~~~\n[y]|"],
  ["tildes in a fence", "```\n~~~\n<think>\n```\n<think>y</think>", "```\n~~~\n<think>\n```\n[y]|"],
  ["backticks that are no fence", "```a```\n<think>b</think>c", "```a```\n[b]|c"],
  ["an open fence in thinking", "<think>\n```\n</think>\n<think>b</think>", "[```]|[b]|"],
  ["its own line breaks stay", "<think>\n\na\n\n</think>\n\n\nb\n", "[\na\n]|b\n"],
  ["a nonce", `<!--thinking-start:${N}-->\nhm\n<!--thinking-end:${N}-->\nyes`, "[hm]|yes"],
  ["a nonce within a line", `a <!--thinking-start:${N}-->hm<!--thinking-end:${N}-->yes`, "a [hm]|yes"],
  [
    "a nonce holds against tags",
    `<!--thinking-start:${N}--></think><!--thinking-end:00000000-->`,
    "[</think><!--thinking-end:00000000-->]|",
  ],
  ["a nonce that is too short", "<!--thinking-start:0a1b2c3-->x", "<!--thinking-start:0a1b2c3-->x"],
  ["a nonce that is too long", `<!--thinking-start:${N}0-->x`, `<!--thinking-start:${N}0-->x`],
  ["a comment", "<!-- thinking -->x", "<!-- thinking -->x"],
  ["an id", "<think>\nhm\n</think>\n```plaintext:thinkId:4f.a_B```\nyes", "[hm]|#4f.a_B yes"],
  [
    "an id as a comment",
    `<!--thinking-start:${N}-->hm<!--thinking-end:${N}-->\n<!--thinkId:77-->\nyes`,
    "[hm]|#77 yes",
  ],
  ["an id at the end", "<think>hm</think>\n```plaintext:thinkId:4f```", "[hm]|#4f "],
  ["no id but a fence", "<think>hm</think>\n```plaintext\n<think>\n```", "[hm]|```plaintext\n<think>\n```"],
  ["an id that belongs to nothing", "a\n```plaintext:thinkId:4f```\n", "a\n```plaintext:thinkId:4f```\n"],
  ["an id without an end", "<think>hm</think>\n```plaintext:thinkId:4f", "[hm]|```plaintext:thinkId:4f"],
  ["an endless id", `<think>hm</think>\n<!--thinkId:${"a".repeat(200)}-->`, `[hm]|<!--thinkId:${"a".repeat(200)}-->`],
];

describe("ThinkSplitter", () => {
  it.each(CASES)("%s", (_, input, shown) => {
    expect(split([input])).toBe(shown);
  });

  it.each(CASES)("%s, at every cut in three", (_, input, shown) => {
    for (let first = 0; first <= input.length; first++) {
      for (let second = first; second <= input.length; second += 1 + (input.length >> 6)) {
        const pieces = [input.slice(0, first), input.slice(first, second), input.slice(second)];
        expect(split(pieces), JSON.stringify(pieces)).toBe(shown);
      }
    }
    expect(split([...input])).toBe(shown);
  });

  it("any cut of any text gives the same, and loses nothing but tags (REL-21)", () => {
    const unit = fc.constantFrom(
      ...[
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "<thi",
        "nk>",
        "```",
        "`",
        "\n",
        " ",
        "<",
        ">",
        "a",
        "日",
      ],
      ...[`<!--thinking-start:${N}-->`, `<!--thinking-end:${N}-->`, "<!--thinkId:7-->", "```plaintext:thinkId:7```"],
    );
    const texts = fc.array(unit, { maxLength: 24 }).map((units) => units.join(""));
    fc.assert(
      fc.property(texts, fc.array(fc.nat(200), { maxLength: 12 }), (input, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (input.length + 1)).sort((a, b) => a - b), input.length];
        const pieces = places.slice(1).map((end, index) => input.slice(places[index], end));
        const whole = split([input]);
        expect(split(pieces)).toBe(whole);
        expect(split([...input])).toBe(whole);
        const letters = (text: string) => text.replace(/[^X日]/g, "");
        expect(letters(whole)).toBe(letters(input));
      }),
      { numRuns: 2000 },
    );
  });

  it("holds back no more than may be the beginning of a delimiter", () => {
    const splitter = new ThinkSplitter();
    expect(splitter.push("abc <t")).toEqual([{ type: "text", text: "abc <t" }]);
    expect(splitter.push("<")).toEqual([]);
    expect(splitter.push("!-")).toEqual([]);
    expect(splitter.push(" ")).toEqual([{ type: "text", text: "<!- " }]);
    expect(splitter.push("\n<")).toEqual([{ type: "text", text: "\n" }]);
    expect(splitter.push("th")).toEqual([]);
    expect(splitter.push("e")).toEqual([{ type: "text", text: "<the" }]);
    expect(splitter.push("\n<think>a</")).toEqual([
      { type: "text", text: "\n" },
      { type: "thinking", text: "a" },
    ]);
    expect(splitter.isHolding).toBe(true);
    expect(splitter.push("b")).toEqual([{ type: "thinking", text: "</b" }]);
    expect(splitter.isHolding).toBe(false);
  });

  it("gives held text out when asked, once, and still knows the tag", () => {
    const splitter = new ThinkSplitter();
    splitter.push("<thi");
    expect(splitter.release()).toEqual([{ type: "text", text: "<thi" }]);
    expect(splitter.release()).toEqual([]);
    expect(splitter.push("n")).toEqual([]);
    expect(splitter.release()).toEqual([{ type: "text", text: "n" }]);
    expect(splitter.push("k>a</")).toEqual([{ type: "thinking", text: "a" }]);
    expect(splitter.release()).toEqual([{ type: "thinking", text: "</" }]);
    expect(splitter.push("b>")).toEqual([{ type: "thinking", text: "b>" }]);
    splitter.push("<");
    splitter.release();
    expect(splitter.push("x")).toEqual([{ type: "thinking", text: "x" }]);
  });

  it("begins anew after the end", () => {
    const splitter = new ThinkSplitter();
    splitter.push("```\n<think>a");
    splitter.end();
    expect(show(splitter.push("<think>b</think>c"))).toBe("[b]|c");
    splitter.push("\n<think>d");
    expect(splitter.end()).toEqual([{ type: "thinking-done" }]);
    expect(splitter.end()).toEqual([]);
    expect(show(splitter.push("e"))).toBe("e");
  });

  it("10 MB without an end pass through and are not kept", () => {
    const splitter = new ThinkSplitter();
    const piece = `${"x".repeat(1023)}\n`;
    let length = splitter.push("<think>").length;
    for (let n = 0; n < 10_240; n++) {
      for (const part of splitter.push(piece)) length += part.type === "thinking" ? part.text.length : Number.NaN;
    }
    expect(length).toBe(10_240 * 1024 - 1);
    expect(splitter.end()).toEqual([{ type: "thinking", text: "\n" }, { type: "thinking-done" }]);
  });
});
