import { expect, it } from "vitest";
import { nameOfConversation } from "../../../src/faces/cursor/name-agent.ts";

it("names a conversation after the first line of its first message", () => {
  expect(nameOfConversation("  Fix the   tests\nplease")).toBe("Fix the tests");
  expect(nameOfConversation(" \n ")).toBe("New conversation");
  const long = nameOfConversation("word ".repeat(40));
  expect(long.length).toBeLessThanOrEqual(61);
  expect(long.endsWith("word…")).toBe(true);
});
