import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spellToolName } from "../../../../src/core/spell-tool-name.ts";
import { qualifiedToolName } from "../../../../src/wire/agent/exec/tool-names.ts";

describe("a tool's name on the wire", () => {
  it.each(["read", "get_weather", "mcp__files__read-all", "X"])(
    "is the client's own where that is plain: %s",
    (name) => {
      expect(spellToolName(name)).toBe(name);
      expect(qualifiedToolName(name)).toBe(`excursor-${name}`);
    },
  );

  it.each(["files.read", "Größe", "a b", "/etc", "x".repeat(51), "a\u0000", "💥"])(
    "is spelt anew where it is not: %s",
    (name) => {
      expect(spellToolName(name)).toMatch(/^[A-Za-z0-9_-]{1,40}_x[0-9a-f]{8}$/);
    },
  );

  it("keeps apart what looks the same", () => {
    const names = ["a.b", "a/b", "a_b", "a b", spellToolName("a.b"), "x".repeat(51), "x".repeat(52)];
    expect(new Set(names.map((name) => spellToolName(name))).size).toBe(names.length);
  });

  it("is legal, short, and its own for any names at all", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 80, unit: "grapheme" }), { maxLength: 30 }),
        (names) => {
          const wire = names.map((name) => spellToolName(name));
          for (const name of wire) expect(name).toMatch(/^[A-Za-z0-9_-]{1,50}$/);
          expect(new Set(wire).size).toBe(names.length);
        },
      ),
    );
  });
});
