import { ExcursorError } from "../../../core/errors.ts";

export const invalid = (field: string, expected: string): ExcursorError =>
  new ExcursorError("invalid-request", `${field}: ${expected}.`, { field });
