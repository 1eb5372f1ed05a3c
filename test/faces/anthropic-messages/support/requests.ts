import { ExcursorError } from "../../../../src/core/errors.ts";
import { createAnthropicMessagesFace } from "../../../../src/faces/anthropic-messages/face.ts";
import type { ParsedRequest } from "../../../../src/faces/shared/face.ts";
import type { RequestLimits } from "../../../../src/faces/shared/request-limits.ts";
import { context } from "../../openai-chat/support/requests.ts";

export { context };

export const aFace = (limits: Partial<RequestLimits> = {}) => createAnthropicMessagesFace({ limits });

const aRequest = (over: object = {}): object => ({
  model: "m",
  max_tokens: 100,
  messages: [{ role: "user", content: "hi" }],
  ...over,
});

export const parse = (over: object = {}, limits: Partial<RequestLimits> = {}): Promise<ParsedRequest> =>
  aFace(limits).parse(aRequest(over), context);

/** What is refused, as its field and message. */
export async function refusal(over: object, limits: Partial<RequestLimits> = {}): Promise<ExcursorError> {
  try {
    await parse(over, limits);
  } catch (thrown) {
    if (thrown instanceof ExcursorError) return thrown;
    throw thrown;
  }
  throw new Error("It was accepted.");
}
