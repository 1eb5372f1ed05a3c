import type { CredentialSource } from "../source.ts";

/**
 * The token that a client sends as its API key. The gate reads it from each request, so this source never finds one.
 */
export function createRequestSource(isAllowed: boolean): CredentialSource {
  return {
    id: "request",
    place: isAllowed ? "a Cursor token sent as the API key" : "a Cursor token sent as the API key (switched off)",
    find: async () => undefined,
  };
}
