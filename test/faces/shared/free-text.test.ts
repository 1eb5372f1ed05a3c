import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FREE_TEXT, stepFreeText } from "../../../src/faces/shared/free-text.ts";
import { cutInto } from "../support/driver-events.ts";

/** What each piece of the arguments tells. */
function read(pieces: readonly string[]): string[] {
  let state = FREE_TEXT;
  return pieces.map((piece) => {
    const told = stepFreeText(state, piece);
    state = told.state;
    return told.text;
  });
}

/** All ways in which JSON may spell a text. */
const spelled = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }).map((text) => [text, JSON.stringify(text).slice(1, -1)] as const),
      fc.constantFrom(["/", "\\/"], ["\u{1f600}", "\\uD83D\\uDE00"], ["\u{1f600}", "\ud83d\\uDe00"], ["é", "\\u00e9"]),
      // Halves of characters, which models do write.
      fc.constantFrom(["\ud83d", "\\ud83d"], ["\ude00", "\\uDE00"], ['"', '\\"'], ["\\", "\\\\"], ["\n", "\\n"]),
    ),
    { maxLength: 8 },
  )
  .map((parts) => ({ text: parts.map(([text]) => text).join(""), json: parts.map(([, json]) => json).join("") }));

const space = fc.constantFrom("", " ", "\n\t", "   ");

describe("free text in JSON", () => {
  it("is the same whatever the cut, and no piece ends in half a character", () => {
    fc.assert(
      fc.property(
        spelled,
        fc.array(space, { minLength: 5, maxLength: 5 }),
        fc.array(fc.nat(80)),
        (said, gaps, cuts) => {
          const [a, b, c, d, e] = gaps;
          const json = `${a}{${b}"input"${c}:${d}"${said.json}"${e}}`;
          const { input } = JSON.parse(json) as { readonly input: string };
          expect(input).toBe(said.text);
          const pieces = read(cutInto(json, cuts));
          expect(pieces.join("")).toBe(input);
          let before = "";
          for (const piece of pieces) {
            before += piece;
            if (before.length < input.length) expect(isCut(input, before.length)).toBe(false);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("comes as soon as it can be told", () => {
    expect(read(['{"inp', 'ut": "*** Be', "gin\\", "n+a\\ud83d", "\\ude00b", '"}'])).toEqual([
      "",
      "*** Be",
      "gin",
      "\n+a",
      "\u{1f600}b",
      "",
    ]);
  });

  it.each([
    ["another argument", ['{"text": "a', 'b"}']],
    ["an argument before it", ['{"x": 1, "input": "a"}']],
    ["something else than text", ['{"input": ["a"]}']],
    ["a name with space in it", ['{"in put": "a"}']],
    ["no object", ['"input": "a"']],
    ["nothing but space", [" ".repeat(1000), '{"input": "a"}']],
  ])("%s is not guessed at", (_, pieces) => {
    expect(read(pieces).join("")).toBe("");
  });

  it("ends at an escape that is none, and at its end", () => {
    expect(read(['{"input": "ab\\xcd', "ef"]).join("")).toBe("ab");
    expect(read(['{"input": "ab\\u12zzcd"}']).join("")).toBe("ab");
    expect(read(['{"input": "ab", "input": "cd"}', '"ef"']).join("")).toBe("ab");
  });
});

const isCut = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
