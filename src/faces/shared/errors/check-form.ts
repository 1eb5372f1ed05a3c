import type { z } from "zod";
import { ExcursorError } from "../../../core/errors.ts";

/**
 * Checks a request body against a schema. The length checks of Zod also run on objects with a `length` of their own, and fail
 * if that cannot be compared.
 */
export function checkForm<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  try {
    return schema.safeParse(body);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ExcursorError("invalid-request", "The request body has an object where a list or a text is expected.");
  }
}
