import { createRequire } from "node:module";
import { Ajv } from "ajv";

const require = createRequire(import.meta.url);

/** What is wrong with a HAR file, by the schema of HAR 1.2. */
export function harProblems(content: unknown): unknown[] {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-06.json"));
  for (const schema of Object.values(require("har-schema") as Record<string, object>)) ajv.addSchema(schema);
  const validate = ajv.getSchema("har.json#");
  if (!validate) throw new Error("The schema of HAR is missing.");
  return validate(content) ? [] : (validate.errors ?? ["?"]);
}
