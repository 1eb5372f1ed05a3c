import { expect, test } from "vitest";
import { Masker } from "../../src/capture/mask/masker.ts";
import { isMaskOf } from "../../src/replay/masked-words.ts";

const TEXT = 'write to ada@example.com, "sk-proj-0123456789abcdefghij" and grace+hopper@mail.example.org';

test("a masked text is the one of now", () => {
  const masked = new Masker().text(TEXT);
  expect(masked).not.toBe(TEXT);
  expect(isMaskOf(masked, TEXT)).toBe(true);
});

test.each([
  ["another word", TEXT.replace("write", "wrote")],
  ["another length", TEXT.replace("ada", "alan")],
  ["another form", TEXT.replace("ada@example", "ada-example")],
  ["nothing to mask", "just words"],
])("%s is a difference", (_, now) => {
  expect(isMaskOf(new Masker().text(TEXT), now)).toBe(false);
});
