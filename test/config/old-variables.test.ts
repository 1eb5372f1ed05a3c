import { expect, it } from "vitest";
import { loadConfig } from "../../src/app/load-config.ts";
import { warnOfOldVariables } from "../../src/config/old-variables.ts";

it.each<[Record<string, string>, readonly string[]]>([
  [{}, []],
  [{ PORT: "" }, []],
  [{ PORT: "3000" }, ["EXCURSOR_PORT"]],
  [{ PORT: "3000", EXCURSOR_PORT: "8787" }, []],
  [{ CURSOR_URL: "https://x.example" }, ["EXCURSOR_UPSTREAM"]],
  [{ CURSOR_URL: "https://x.example", EXCURSOR_UPSTREAM: "https://x.example" }, []],
  [{ PORT: "1", CURSOR_URL: "x", CURSOR_CHECKSUM: "y" }, ["EXCURSOR_PORT", "EXCURSOR_UPSTREAM", "EXCURSOR_CHECKSUM"]],
])("%j: names %j", (variables, named) => {
  const environment = { ...variables, EXCURSOR_HOME: "/nonexistent" };
  const warning = warnOfOldVariables(loadConfig({ flags: {}, environment }), environment);
  expect(warning?.match(/EXCURSOR_\w+/g) ?? []).toEqual(named);
});
