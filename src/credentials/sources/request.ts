import type { CredentialSource } from "../source.ts";

/** The token that a caller sends in place of an API key. The gate takes it; before a request comes there is none. */
export function createRequestSource(isAllowed: boolean): CredentialSource {
  return {
    id: "request",
    place: isAllowed ? "a Cursor token sent as the API key" : "a Cursor token sent as the API key (switched off)",
    find: async () => undefined,
  };
}
