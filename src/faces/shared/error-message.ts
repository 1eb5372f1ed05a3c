import type { ExcursorError } from "../../core/errors.ts";

/** What a client is told, in any dialect. A bug of ours says where to look for it. */
export function errorMessage(error: ExcursorError, requestId: string): string {
  const reference = error.kind === "internal" ? `(Request ${requestId}.)` : undefined;
  // Programs read this as well: advice that fits every error of a kind would only be in their way.
  const hint = error.hasOwnHint ? error.hint : undefined;
  const more = [hint, reference].filter((text) => text !== undefined);
  return more.length === 0 ? error.message : [asSentence(error.message), ...more].join(" ");
}

/** Messages of upstreams often lack their full stop. */
const asSentence = (text: string): string => (/[.!?…:]$/.test(text) ? text : `${text}.`);
