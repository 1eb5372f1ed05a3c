import { format, inspect } from "node:util";
import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";

const secret = new Secret("hunter2");

it.each<[string, () => string]>([
  ["a template", () => `${secret}`],
  ["String", () => String(secret)],
  ["JSON", () => JSON.stringify({ secret })],
  ["inspect", () => inspect({ deep: [secret] }, { showHidden: true, depth: 9 })],
  ["format", () => format("%s %o %j", secret, secret, { secret })],
  ["its own keys", () => JSON.stringify(Object.entries(secret))],
])("%s does not tell it", (_, print) => {
  expect(print()).not.toContain("hunter2");
});

it("tells it to who asks by name", () => {
  expect(secret.reveal()).toBe("hunter2");
});
