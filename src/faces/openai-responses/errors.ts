import type { ResponseError } from "openai/resources/responses/responses";
import type { ErrorKind, ExcursorError } from "../../core/errors.ts";

export { errorBody, errorObject } from "../shared/openai/openai-errors.ts";

/** The official codes for what fails, and one of the service that Codex compacts at. All others are the server's. */
const CODES: { readonly [Kind in ErrorKind]?: string } = {
  "invalid-request": "invalid_prompt",
  "context-overflow": "context_length_exceeded",
  "rate-limited": "rate_limit_exceeded",
  "quota-exhausted": "rate_limit_exceeded",
};

/** Returns the code of an answer that has failed. */
export const failureCode = ({ kind }: ExcursorError) => (CODES[kind] ?? "server_error") as ResponseError["code"];
