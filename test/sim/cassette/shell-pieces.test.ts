import { expect, test } from "vitest";
import { matchPieces } from "../../../src/sim/cassette/shell-pieces.ts";

test.each([
  { name: "as recorded", recorded: ["out\n", "alpha\n"], said: "out\n", expected: { count: 1, rest: "" } },
  { name: "two in one", recorded: ["out\n", "alpha\n"], said: "out\nalpha\n", expected: { count: 2, rest: "" } },
  { name: "one and a half", recorded: ["out\n", "alpha\n"], said: "out\nal", expected: { count: 1, rest: "al" } },
  { name: "a part", recorded: ["out\nalpha\n"], said: "out\n", expected: { count: 0, rest: "out\n" } },
  { name: "another text", recorded: ["out\n", "alpha\n"], said: "out\nbeta\n", expected: undefined },
  { name: "more text", recorded: ["out\n"], said: "out\nalpha\n", expected: undefined },
  { name: "no text is due", recorded: [], said: "out", expected: undefined },
])("pieces of a shell's output: $name", ({ recorded, said, expected }) => {
  expect(matchPieces(recorded, said)).toEqual(expected);
});
