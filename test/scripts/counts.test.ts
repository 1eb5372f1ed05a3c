import { describe, expect, it } from "vitest";
import { countLines, countSource, countWords } from "../../scripts/counts.ts";

const count = (source: string) => countSource("file.ts", source);

describe("countSource", () => {
  it("counts imports of values and of types", () => {
    expect(count('import a from "a";\nimport type { B } from "b";\nimport "c";\nawait import("d");').imports).toBe(3);
  });

  it("counts the lines of functions, arrows and methods, also of those inside others", () => {
    const source = [
      "function one() {}",
      "const three = () => {",
      "  return [1].map(() => 2);",
      "};",
      "class A {",
      "  two() {",
      "  }",
      "}",
    ];
    expect(count(source.join("\n")).functionLines).toEqual([1, 3, 1, 2]);
  });

  it("counts reads of process.env, not of other variables nor in comments", () => {
    const source = '// process.env\nuse(process.env, process.env["A"], options.env, process.cwd());';
    expect(count(source).environmentReads).toBe(2);
  });

  it("counts spreads of values that are named as an engine", () => {
    const source = "use({ ...engine, run }, { ...this.engine }, { ...faceEngine }, { ...options }, engine);";
    expect(count(source).engineSpreads).toBe(3);
  });

  it("counts uses of AsyncLocalStorage, not its import", () => {
    const source = 'import { AsyncLocalStorage } from "node:async_hooks";\n';
    expect(count(source).asyncLocalStorages).toBe(0);
    const uses = "new AsyncLocalStorage<string>();\nAsyncLocalStorage.snapshot();";
    expect(count(source + uses).asyncLocalStorages).toBe(2);
  });

  it("refuses what it cannot parse", () => {
    expect(() => count("const = 1;")).toThrow("file.ts: ");
  });
});

it("counts lines and words as wc does", () => {
  expect(countLines("a\nb\n")).toBe(2);
  expect(countLines("a\nb")).toBe(1);
  expect(countWords(" one  two\nthree\n")).toBe(3);
  expect(countWords("")).toBe(0);
});
