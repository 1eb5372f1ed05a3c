import { describe, expect, it } from "vitest";
import { messagesRequest } from "../../../src/faces/anthropic-messages/schema.ts";
import { generateRequest } from "../../../src/faces/gemini/schema.ts";
import { chatRequest } from "../../../src/faces/openai-chat/schema.ts";
import { responsesRequest } from "../../../src/faces/openai-responses/schema.ts";
import { checkForm } from "../../../src/faces/shared/errors/check-form.ts";

/** Neither a list nor comparable, though it has a `length`. */
const IMPOSTOR = { length: { toString: null } };

describe("a body with an object where a list is expected", () => {
  it.each([
    ["Chat Completions", chatRequest],
    ["Responses", responsesRequest],
    ["Messages", messagesRequest],
    ["Gemini", generateRequest],
  ])("is refused by %s, whatever its length is (FUZ-05)", (_, schema) => {
    const fields = ["contents", "messages", "input", "tools", "stop", "metadata", "model"];
    const body = Object.fromEntries(fields.map((field) => [field, IMPOSTOR]));
    const check = () => {
      const { error } = checkForm(schema, body);
      if (error) throw error;
    };
    expect(check).toThrow(/a list|invalid|expected/i);
    expect(check).not.toThrow(TypeError);
  });

  it("is told what is wrong, and not that the gateway has failed", () => {
    expect(() => checkForm(generateRequest, { contents: IMPOSTOR })).toThrow(
      expect.objectContaining({ kind: "invalid-request" }),
    );
  });
});
