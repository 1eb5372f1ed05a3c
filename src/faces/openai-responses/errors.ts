import type { ResponseError } from "openai/resources/responses/responses";
import type { ErrorKind, ExcursorError } from "../../core/errors.ts";

export { errorBody, errorObject } from "../shared/openai/openai-errors.ts";

/** The codes that the official type has for what fails. All others are the server's. */
const CODES: { readonly [Kind in ErrorKind]?: ResponseError["code"] } = {
  "invalid-request": "invalid_prompt",
  "rate-limited": "rate_limit_exceeded",
  "quota-exhausted": "rate_limit_exceeded",
};

/** Codex compacts a conversation at this code, which the service sends and the official type does not know. */
const OVERFLOW = "context_length_exceeded" as ResponseError["code"];

/** Returns the code of an answer that has failed. */
export const failureCode = ({ kind }: ExcursorError): ResponseError["code"] =>
  kind === "context-overflow" ? OVERFLOW : (CODES[kind] ?? "server_error");
