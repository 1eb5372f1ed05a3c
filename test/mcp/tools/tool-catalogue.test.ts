import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { catalogueName, createAllowList } from "../../../src/mcp/tools/tool-catalogue.ts";

describe("a name in the catalogue", () => {
  it("is server__tool where that is plain", () => {
    expect(catalogueName("files", "read_file")).toBe("files__read_file");
    expect(catalogueName("my-server", "a__b")).toBe("my-server__a__b");
  });

  it("keeps apart what would look the same", () => {
    const pairs = [
      ["a", "b.c"],
      ["a", "b_c"],
      ["a", "b-c"],
      ["a", "_b"],
      ["a_", "b"],
      ["a__b", "c"],
      ["a", "b__c"],
      ["a.b", "c"],
      ["a b", "c"],
      ["a", "x".repeat(100)],
      ["a", "x".repeat(101)],
    ] as const;
    expect(new Set(pairs.map(([server, tool]) => catalogueName(server, tool))).size).toBe(pairs.length);
  });

  it("is legal in every dialect, stable and its own for any names at all", () => {
    const name = fc.string({ minLength: 1, maxLength: 80, unit: fc.constantFrom("a", "b", "_", "-", ".", "é", " ") });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, name), { selector: (pair) => JSON.stringify(pair) }), (pairs) => {
        const spelt = pairs.map(([server, tool]) => catalogueName(server, tool));
        for (const one of spelt) expect(one).toMatch(/^[A-Za-z0-9_-]{1,50}$/);
        expect(new Set(spelt).size).toBe(pairs.length);
      }),
    );
  });
});

describe("an allow-list", () => {
  it.each([
    [["files"], "files", "read", true],
    [["files"], "files2", "read", false],
    [["files/read_*"], "files", "read_file", true],
    [["files/read_*"], "files", "write_file", false],
    [["*"], "any", "thing", true],
    [["*/read"], "any", "read", true],
    [["a.c"], "abc", "x", false],
    [["files/a/b"], "files", "a/b", true],
    [[], "files", "read", false],
  ])("%j lets %s/%s: %s", (patterns, server, tool, expected) => {
    expect(createAllowList(patterns)(server, tool)).toBe(expected);
  });
});
