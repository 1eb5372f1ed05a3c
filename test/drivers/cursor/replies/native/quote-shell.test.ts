import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteShell } from "../../../../../src/drivers/cursor/replies/native/quote-shell.ts";

test("a shell reads any text back as the one word that it was", () => {
  const word = fc.string({
    unit: fc.oneof(fc.constantFrom(..."'\"\\$`!*?[]{}()<>|&;#~ \n\t-"), fc.string({ minLength: 1 })),
  });
  const texts = fc.sample(word, 100).map((text) => text.replaceAll("\0", ""));
  const script = `printf '%s\\0' ${texts.map(quoteShell).join(" ")}`;
  expect(execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1)).toEqual(texts);
});
