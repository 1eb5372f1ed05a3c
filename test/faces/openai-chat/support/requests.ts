import { ExcursorError } from "../../../../src/core/errors.ts";
import { createOpenAiChatFace, type OpenAiChatOptions } from "../../../../src/faces/openai-chat/face.ts";
import type { ParseContext, ParsedRequest } from "../../../../src/faces/shared/face.ts";

export const CREATED = 1_700_000_000;

export const aFace = (options: OpenAiChatOptions = {}) =>
  createOpenAiChatFace({ now: () => CREATED * 1000 + 999, ...options });

/** Loads every image as its URL's own bytes, but those that say they are bad. */
export const context: ParseContext = {
  principal: { id: "p", token: undefined },
  requestId: "r1",
  images: {
    load: async (url) => {
      if (url.includes("bad")) throw new ExcursorError("invalid-request", "The image cannot be read.");
      return { type: "image", mediaType: "image/png", data: Buffer.from(url) };
    },
  },
  path: {},
  query: new URLSearchParams(),
  header: () => undefined,
};

export const aRequest = (over: object = {}): object => ({
  model: "m",
  messages: [{ role: "user", content: "hi" }],
  ...over,
});

export const parse = (over: object = {}, options: OpenAiChatOptions = {}): Promise<ParsedRequest> =>
  aFace(options).parse(aRequest(over), context);

/** What is refused, as its field and message. */
export async function refusal(body: unknown, options: OpenAiChatOptions = {}): Promise<ExcursorError> {
  try {
    await aFace(options).parse(body, context);
  } catch (thrown) {
    if (thrown instanceof ExcursorError) return thrown;
    throw thrown;
  }
  throw new Error("It was accepted.");
}
