import { describe, expect, it } from "vitest";
import { diffOf } from "../../../../../src/faces/cursor/run/tools/diff.ts";
import { replaceText } from "../../../../../src/faces/cursor/run/tools/edit.ts";

const edit = (before: string, old: string, fresh: string, all = false) =>
  replaceText(before, { old_text: old, new_text: fresh, replace_all: all });

describe("replaceText", () => {
  it("keeps line endings and the byte order mark", () => {
    expect(edit("\uFEFFa\r\nb\r\n", "a\nb", "a\nc\nd")).toBe("\uFEFFa\r\nc\r\nd\r\n");
    expect(edit("a\nb\n", "b", "c")).toBe("a\nc\n");
    expect(edit("a\r\nb", "b", "b\nc")).toBe("a\r\nb\r\nc");
  });

  it("keeps the line endings of each place in a file that mixes them", () => {
    const mixed = "a\r\nb\nc\nd\r\n";
    expect(edit(mixed, "b\nc", "x\ny\nz")).toBe("a\r\nx\ny\nz\nd\r\n");
    expect(edit(mixed, "a\nb", "a\nx\nb")).toBe("a\r\nx\r\nb\nc\nd\r\n");
    expect(edit(mixed, "a\r\nb", "a\nx\nb")).toBe("a\r\nx\r\nb\nc\nd\r\n");
    expect(edit(mixed, "c", "c\nx")).toBe("a\r\nb\nc\nx\nd\r\n");
    expect(edit("x\r\nx\nx", "x", "y\ny", true)).toBe("y\r\ny\r\ny\ny\ny\ny");
  });

  it("does not read the new text as a pattern", () => {
    expect(edit("a", "a", "$& $1")).toBe("$& $1");
  });

  it("needs one place, unless all are meant", () => {
    expect(() => edit("a a", "a", "b")).toThrow("2 times");
    expect(edit("a a", "a", "b", true)).toBe("b b");
    expect(() => edit("a", "x", "b")).toThrow("not in the file");
    expect(() => edit("a", "", "b")).toThrow("old_text");
  });
});

it("shows a change as a hunk", () => {
  expect(diffOf("1\n2\n3\n4\n5\n", "1\n2\nx\ny\n4\n5\n")).toEqual({
    text: "@@ -1,6 +1,7 @@\n 1\n 2\n-3\n+x\n+y\n 4\n 5\n ",
    added: 2,
    removed: 1,
  });
});
