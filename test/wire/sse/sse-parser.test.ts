import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseParser } from "../../../src/wire/sse/sse-parser.ts";

function parse(text: string | Buffer, cuts: readonly number[] = [], maxLength = 1000): [string, string][] {
  const bytes = Buffer.from(text);
  const events: [string, string][] = [];
  const parse = createSseParser({ maxLength, onEvent: (name, data) => events.push([name, data]) });
  let from = 0;
  for (const at of [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    parse(bytes.subarray(from, at));
    from = at;
  }
  return events;
}

describe("server-sent events", () => {
  it.each<[string, string | Buffer, [string, string][]]>([
    ["one with a name", "event: a\ndata: 1\n\n", [["a", "1"]]],
    ["one without", "data:1\n\n", [["", "1"]]],
    ["only one blank belongs to the field", "data:  1\n\n", [["", " 1"]]],
    ["several lines", "data: 1\ndata\ndata: 2\n\n", [["", "1\n\n2"]]],
    ["CRLF and a mark at the start", "\ufeffevent: a\r\ndata: 1\r\n\r\n", [["a", "1"]]],
    [
      "comments, ids, retry times, and names without data",
      ": hi\nid: 3\nretry: 5\nevent: x\n\ndata: 1\n\n",
      [["", "1"]],
    ],
    ["one that is not over", "data: 1\n", []],
    [
      "bytes that are not UTF-8",
      Buffer.from([...Buffer.from("data: a"), 0xff, 0xc3, 0x0a, 0x0a]),
      [["", "a\ufffd\ufffd"]],
    ],
    ["letters of several bytes", "data: ☕️ü\n\n", [["", "☕️ü"]]],
  ])("%s", (_, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it("mean the same, however they are cut", () => {
    const line = fc.oneof(
      fc.constantFrom("data: ü☕", "event: a", "", ": c", "data:", "\r"),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.array(fc.nat(500), { maxLength: 20 }), (lines, cuts) => {
        const text = lines.join("\n");
        expect(parse(text, cuts)).toEqual(parse(text));
      }),
    );
  });

  it.each([
    ["a line", `data: ${"x".repeat(1000)}`],
    ["an event", `data: ${"x".repeat(600)}\n`.repeat(2)],
  ])("%s may not be larger than allowed", (_, text) => {
    expect(() => parse(text)).toThrow(/larger than allowed/);
  });
});
