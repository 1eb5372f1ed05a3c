import type { z } from "zod";
import { ExcursorError } from "../core/errors.ts";

/** Returns the body of a call as a schema has it. Throws with the name of the first wrong field. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const [issue] = error.issues;
  const field = issue?.path.join(".") ?? "";
  throw new ExcursorError("invalid-request", `${field === "" ? "" : `${field}: `}${issue?.message ?? "wrong"}`, {
    field,
    hint: null,
  });
}
