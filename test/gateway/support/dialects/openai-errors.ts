import { checkType } from "../dialect.ts";

const TYPES = { 400: "invalid_request_error", 401: "authentication_error", 413: "invalid_request_error" };

/** Reads an error of OpenAI's APIs. */
export function readError(body: unknown, status: number): { readonly message: string } {
  const { error } = body as { error: { type: string; message: string; code: string; param: string | null } };
  if (typeof error.code !== "string" || error.param === undefined) throw new Error("Not an error of this dialect.");
  checkType(error.type, status, TYPES);
  return error;
}
