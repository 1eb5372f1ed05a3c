import { ExcursorError } from "../../core/errors.ts";

/** What a client got wrong, by field and what was expected. */
export const invalid = (field: string, expected: string): ExcursorError =>
  new ExcursorError("invalid-request", `${field}: ${expected}.`, { field });
