import type { ExcursorError } from "../../../core/errors.ts";

/** Returns the message for clients of any dialect. An internal error refers to the request's log line. */
export function errorMessage(error: ExcursorError, requestId: string): string {
  const reference = error.kind === "internal" ? `(Request ${requestId}.)` : undefined;
  // Generic hints of a kind are left out, since programs read this too.
  const hint = error.hasOwnHint ? error.hint : undefined;
  const more = [hint, reference].filter((text) => text !== undefined);
  return more.length === 0 ? error.message : [asSentence(error.message), ...more].join(" ");
}

/** Upstream messages often lack a full stop. */
const asSentence = (text: string): string => (/[.!?…:]$/.test(text) ? text : `${text}.`);
