import { ExcursorError } from "../../core/errors.ts";

/** Returns the error for an empty last message. The upstreams' own errors are not helpful. */
export const emptyQuestion = (): ExcursorError =>
  new ExcursorError("invalid-request", "The last message is empty: there is nothing to answer.", {
    code: "empty_question",
  });
