import { ExcursorError } from "../../core/errors.ts";

/** Returns the error for an empty last message. The upstreams' own errors are not helpful. */
export const emptyQuestion = (): ExcursorError => new ExcursorError("empty_question");
