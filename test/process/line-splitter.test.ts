import fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter } from "../../src/process/line-splitter.ts";

it("any cut of the bytes gives the same lines (FUZ-12)", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom("a", "é", "💥", "\r", "{") })),
      fc.array(fc.nat(7), { minLength: 1 }),
      (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const splitter = new LineSplitter(1000);
        const read: string[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = 1 + (cuts[at % cuts.length] ?? 0);
          splitter.push(bytes.subarray(at, at + size), (line) => read.push(line));
          at += size;
        }
        expect(read).toEqual(Buffer.from(lines.join("\n")).toString("utf8").split("\n").slice(0, lines.length));
      },
    ),
  );
});

it("a line that is too long is not kept", () => {
  const splitter = new LineSplitter(10);
  const read: string[] = [];
  splitter.push(Buffer.from("0123456789\n01234"), (line) => read.push(line));
  expect(() => splitter.push(Buffer.from("567890"), (line) => read.push(line))).toThrow("too long");
  expect(read).toEqual(["0123456789"]);
});
