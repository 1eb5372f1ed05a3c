import { ExcursorError } from "../../../../src/core/errors.ts";
import type { ResponseStore, StoredResponse } from "../../../../src/core/history/stored-responses.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { createOpenAiResponsesFace, type OpenAiResponsesOptions } from "../../../../src/faces/openai-responses/face.ts";
import { createReasoningSeal } from "../../../../src/faces/openai-responses/reasoning-seal.ts";
import type { ParseContext, ParsedRequest } from "../../../../src/faces/shared/face.ts";

export const CREATED = 1_700_000_000;

export const seal = createReasoningSeal(new Secret("for tests"));

/** Keeps answers as long as it lives, in the simplest way. */
export class MemoryStore implements ResponseStore {
  readonly kept = new Map<string, StoredResponse>();

  put(principalId: string, response: StoredResponse): void {
    this.kept.set(`${principalId} ${response.id}`, response);
  }

  find(principalId: string, id: string): StoredResponse | undefined {
    return this.kept.get(`${principalId} ${id}`);
  }

  conversation(principalId: string, id: string): readonly string[] | undefined {
    const found = this.find(principalId, id);
    if (!found) return undefined;
    const before = found.previousId === undefined ? [] : this.conversation(principalId, found.previousId);
    return before && [...before, ...[...found.input, ...found.output].map(({ json }) => json)];
  }

  findItem(principalId: string, itemId: string): string | undefined {
    return [...this.kept]
      .filter(([key]) => key.startsWith(`${principalId} `))
      .flatMap(([, { input, output }]) => [...input, ...output])
      .find(({ id }) => id === itemId)?.json;
  }

  delete(principalId: string, id: string): boolean {
    return this.kept.delete(`${principalId} ${id}`);
  }
}

export const aFace = (options: Partial<OpenAiResponsesOptions> = {}) =>
  createOpenAiResponsesFace({ store: new MemoryStore(), seal, now: () => CREATED * 1000 + 999, ...options });

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

const aRequest = (over: object = {}): object => ({ model: "m", input: "hi", ...over });

export const parse = (over: object = {}, options: Partial<OpenAiResponsesOptions> = {}): Promise<ParsedRequest> =>
  aFace(options).parse(aRequest(over), context);

/** What is refused, with its field and message. */
export async function refusal(over: unknown, options: Partial<OpenAiResponsesOptions> = {}): Promise<ExcursorError> {
  const body = typeof over === "object" && over !== null && !Array.isArray(over) ? aRequest(over) : over;
  try {
    await aFace(options).parse(body, context);
  } catch (thrown) {
    if (thrown instanceof ExcursorError) return thrown;
    throw thrown;
  }
  throw new Error("It was accepted.");
}
