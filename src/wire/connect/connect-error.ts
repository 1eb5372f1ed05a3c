import { type ErrorDetails, ExcursorError } from "../../core/errors.ts";
import {
  CONNECT_CODES,
  type ConnectCode,
  CURSOR_ERRORS,
  FINAL_ERROR_TYPES,
  isConnectCode,
  MAYBE_OUTDATED,
  type Meaning,
  OUTDATED,
} from "../agent/cursor-errors.ts";
import { parseRetryAfter } from "../http/retry-after.ts";
import { jsonObject } from "../json.ts";
import { type CursorDetails, findCursorDetails } from "./error-details.ts";

/** Names are lower-case. */
export type Metadata = Readonly<Record<string, readonly string[]>>;

const MAX_MESSAGE_LENGTH = 1000;

/** What is known about a failed call beside the error itself. */
export interface FailureContext {
  readonly metadata: Metadata;
  /** The meaning if the error has no known code. */
  readonly fallback: Meaning;
  readonly context?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Converts a Connect error, `{code, message, details}`. Never throws: missing, unknown or broken parts are skipped,
 * even if the value is no error at all.
 */
export function fromConnectError(value: unknown, { metadata, fallback, context }: FailureContext): ExcursorError {
  const error = jsonObject<"code" | "message" | "details">(value);
  const code = isConnectCode(error?.code) ? error.code : undefined;
  const message = typeof error?.message === "string" ? error.message : "";
  const details = findCursorDetails(error?.details);
  const errorType = metadata["x-cursor-inference-request-error-type"]?.[0];

  const retryAfterMs = parseRetryAfter(metadata["retry-after"]?.[0]);
  const isBare = details === undefined && errorType === undefined && retryAfterMs === undefined && isEmpty(message);
  const isUnexplained = isBare && code === "resource_exhausted";
  const meaning = isUnexplained ? UNEXPLAINED : judge(code, message, details, errorType, fallback);
  const retryable = meaning.retryable ?? details?.isRetryable;
  const facts: ErrorDetails = {
    ...(meaning.hint !== undefined && { hint: meaning.hint }),
    ...(retryable !== undefined && { retryable }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    context: {
      ...context,
      ...(code !== undefined && { connectCode: code }),
      ...(details?.error !== undefined && { cursorError: details.error }),
      ...(errorType !== undefined && { errorType: errorType.slice(0, 80) }),
    },
  };
  return new ExcursorError(meaning.error, wording(message, details, code), facts);
}

/** Returns the meaning from the most specific source. */
function judge(
  code: ConnectCode | undefined,
  message: string,
  details: CursorDetails | undefined,
  errorType: string | undefined,
  fallback: Meaning,
): Meaning {
  // Seen as `resource_exhausted` with a rate limit's number: only the title tells the real cause.
  if (/\bupdate required\b/i.test(details?.title || message)) return OUTDATED;
  const named = details?.error === undefined ? "byCode" : CURSOR_ERRORS[details.error];
  const final = errorType !== undefined && Object.hasOwn(FINAL_ERROR_TYPES, errorType) && FINAL_ERROR_TYPES[errorType];
  if (named !== "byCode") return final ? { ...named, retryable: false } : named;
  if (!final && code === "permission_denied" && details === undefined) return MAYBE_OUTDATED;
  return final || (code ? CONNECT_CODES[code] : fallback);
}

/** A refusal of which nothing is known but its code. */
const UNEXPLAINED: Meaning = { error: "refused_without_reason" };

const isEmpty = (message: string): boolean => /^(?:(?:unknown )?error\.?)?$/i.test(message.trim());

/** Returns the message. The backend's `message` is often just "Error", so its title and detail are preferred. */
function wording(message: string, details: CursorDetails | undefined, code: ConnectCode | undefined): string {
  const parts = [details?.title, details?.detail].map((part) => part?.trim()).filter((part) => part);
  const distinct = parts[0] === parts[1] ? parts.slice(0, 1) : parts;
  const said = distinct.join(/[.!?:]$/.test(distinct[0] ?? "") ? " " : ": ") || message.trim();
  if (isEmpty(said)) {
    return code ? `The backend failed the request (${code}).` : "The backend failed the request.";
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal.
  const clean = said.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
  return clean.length > MAX_MESSAGE_LENGTH ? `${clean.slice(0, MAX_MESSAGE_LENGTH)}…` : clean;
}
