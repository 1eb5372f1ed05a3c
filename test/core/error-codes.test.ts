import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode } from "../../src/core/error-codes.ts";
import { ERROR_KINDS, ExcursorError } from "../../src/core/errors.ts";

const codes = Object.keys(ERROR_CODES) as ErrorCode[];

test("every code is used in the sources", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith("error-codes.ts"))
    .map((path) => readFileSync(join("src", path), "utf8"))
    .join("\n");
  expect(codes.filter((code) => !sources.includes(`"${code}"`))).toEqual([]);
});

test("no code is named like a kind", () => {
  expect(codes.filter((code) => Object.hasOwn(ERROR_KINDS, code))).toEqual([]);
});

test("the values fill the sentence, then the hint", () => {
  expect(new ExcursorError("connected_elsewhere", ["zed", "/a/$&", "zed"])).toMatchObject({
    kind: "config",
    code: "connected_elsewhere",
    message: "zed is already connected, in /a/$&.",
    hint: "Run `excursor disconnect zed` first.",
    hasOwnHint: true,
  });
});

test("a sentence and details of the place replace those of the table", () => {
  const error = new ExcursorError("connected_elsewhere", "It is connected.", { kind: "busy", hint: null });
  expect(error).toMatchObject({ kind: "busy", retryable: true, message: "It is connected.", hint: undefined });
});
