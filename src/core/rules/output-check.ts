import { ExcursorError } from "../errors.ts";
import { isJsonObject } from "../json/is-json-object.ts";
import type { SchemaCheck, SchemaChecker, SchemaContext } from "../schema-checker.ts";
import type { OutputFormat } from "../turn.ts";
import { findJson } from "./find-json.ts";

export type OutputCheck = (text: string) => Promise<CheckedOutput>;

export type CheckedOutput =
  | { readonly isValid: true; readonly json: string }
  | { readonly isValid: false; readonly problem: string };

export interface CheckContext extends Omit<SchemaContext, "field"> {
  /** Undefined: turns with a schema are refused. */
  readonly schemas: SchemaChecker | undefined;
}

/** Returns a check whether a text is what the client asked for. Throws `invalid-request` if the schema cannot be used. */
export async function createOutputCheck(format: OutputFormat, context: CheckContext): Promise<OutputCheck> {
  const findProblem = format.type === "json-schema" ? await openSchema(format, context) : objectProblem;
  return async (text) => {
    const found = findJson(text);
    if (!found) return { isValid: false, problem: "it is not JSON" };
    const problem = await findProblem(found.json, found.value);
    return problem === undefined ? { isValid: true, json: found.json } : { isValid: false, problem };
  };
}

const objectProblem = (_json: string, value: unknown): string | undefined =>
  isJsonObject(value) ? undefined : "it is not a JSON object";

function openSchema(
  { schema, field }: Extract<OutputFormat, { readonly type: "json-schema" }>,
  { schemas, principal, signal }: CheckContext,
): Promise<SchemaCheck> {
  if (schemas) return schemas.open(schema, { principal, field, signal });
  throw new ExcursorError("unsupported", `${field}: JSON schemas cannot be checked here.`, { field });
}
