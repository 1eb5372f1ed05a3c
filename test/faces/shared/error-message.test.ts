import { expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { errorMessage } from "../../../src/faces/shared/errors/error-message.ts";

it.each([
  ["User is unauthorized", "User is unauthorized. Sign in again."],
  ["It broke.", "It broke. Sign in again."],
  ["Really?", "Really? Sign in again."],
])("a message is a sentence of its own before a hint: %s", (message, told) => {
  expect(errorMessage(new ExcursorError("unauthenticated", message, { hint: "Sign in again." }), "r")).toBe(told);
});

it("a message that nothing follows stays as it is", () => {
  expect(errorMessage(new ExcursorError("upstream-failed", "overloaded"), "r")).toBe("overloaded");
});
