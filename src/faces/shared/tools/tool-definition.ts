import { z } from "zod";
import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { JsonObject } from "../../../core/turn.ts";

/** A tool's name, in any dialect. Drivers replace characters that their upstream does not accept. */
export const toolName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^\P{Cc}+$/u, { error: "expected a name without control characters" });

/** The JSON schema of a tool's arguments, passed on as it is. Checks only that it describes an object. */
export const toolParameters = z.custom<JsonObject>().superRefine((value: unknown, context) => {
  const issue = problemOf(value);
  if (issue) context.addIssue({ code: "custom", path: issue.path, message: issue.message });
});

interface Problem {
  readonly path: string[];
  readonly message: string;
}

function problemOf(schema: unknown): Problem | undefined {
  if (!isJsonObject(schema)) return { path: [], message: "expected an object" };
  const { type, properties, required } = schema;
  const types = Array.isArray(type) ? type : [type ?? "object"];
  if (!types.includes("object")) return { path: ["type"], message: 'expected "object"' };
  if (properties !== undefined && !isJsonObject(properties))
    return { path: ["properties"], message: "expected an object" };
  const isList = Array.isArray(required) && required.every((name) => typeof name === "string");
  if (required !== undefined && !isList) return { path: ["required"], message: "expected an array of strings" };
  return undefined;
}
