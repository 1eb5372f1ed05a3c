import { ExcursorError } from "../../core/errors.ts";

/** Returns the error for a wrong field of a request. */
export const invalid = (field: string, expected: string): ExcursorError =>
  new ExcursorError("invalid-request", `${field}: ${expected}.`, { field });
