import { setImmediate } from "node:timers/promises";
import { CANCELED, ExcursorError } from "../errors.ts";
import { readArguments } from "../json/call-arguments.ts";
import { isJsonObject } from "../json/is-json-object.ts";
import { nestsDeeper } from "../json/nests-deeper.ts";
import type { JsonObject, JsonValue, ToolDefinition } from "../turn.ts";
import { findApartJson } from "./find-json.ts";
import type { CheckContext } from "./output-check.ts";

export interface TextCall {
  readonly name: string;
  readonly args: JsonObject;
}

/**
 * Returns the tool call that a model has written as text instead of making it. The text must be a JSON object: alone, in a
 * code fence, or at the end, after a colon or a line break. It counts as a call
 *
 * - if it names an offered tool, as `{"name": …, "arguments": …}`, and the arguments match the tool's schema,
 * - or if it matches the schema of exactly one of the offered tools. Members that a schema does not mention do not match,
 *   unless it allows them expressly, or mentions none and is the only tool: otherwise a tool without parameters would
 *   match every object.
 *
 * A tool whose schema the checker refuses is never found. The whole search has one deadline, however many tools there are;
 * nothing is found after it.
 */
export async function findTextCall(
  text: string,
  tools: readonly ToolDefinition[],
  context: CheckContext,
): Promise<TextCall | undefined> {
  const value = findApartJson(text)?.value as JsonValue | undefined;
  if (!isJsonObject(value) || nestsDeeper(value, MAX_LEVELS)) return undefined;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), SEARCH_MS);
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  try {
    return await search(value, tools, { ...context, signal });
  } catch (error) {
    const isLate = deadline.signal.aborted && !context.signal.aborted;
    if (isLate && ExcursorError.from(error).kind === "canceled") return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function search(
  value: JsonObject,
  tools: readonly ToolDefinition[],
  context: CheckContext,
): Promise<TextCall | undefined> {
  const named = readNamed(value, tools);
  if (named && (await matches(named.tool, named.args, context))) return { name: named.tool.name, args: named.args };
  let found: TextCall | undefined;
  for (const tool of tools) {
    if (!mayMatch(tool, value, tools.length === 1)) continue;
    // The checker may refuse many schemas without waiting: this lets other requests and the deadline run in between.
    await setImmediate();
    if (context.signal.aborted) throw CANCELED;
    if (!(await matches(tool, value, context))) continue;
    if (found) return undefined;
    found = { name: tool.name, args: value };
  }
  return found;
}

const SEARCH_MS = 5000;
const MAX_LEVELS = 128;
const ARGUMENTS = ["arguments", "parameters", "input"];

function readNamed(value: JsonObject, tools: readonly ToolDefinition[]) {
  const tool = tools.find(({ name }) => name === value["name"]);
  const given = ARGUMENTS.map((key) => value[key]).find((args) => args !== undefined);
  const args = typeof given === "string" ? readArguments(given) : given;
  return tool && isJsonObject(args as JsonValue) ? { tool, args: args as JsonObject } : undefined;
}

/** A cheap check before the real one: all required members are there, and none that the schema does not mention. */
function mayMatch({ schema }: ToolDefinition, value: JsonObject, isOnly: boolean): boolean {
  const { properties, required, additionalProperties } = schema;
  if (Array.isArray(required) && !required.every((name) => typeof name === "string" && Object.hasOwn(value, name)))
    return false;
  const isOpen = OPEN_KEYWORDS.some((keyword) => schema[keyword] !== undefined) || Boolean(additionalProperties);
  const known = isJsonObject(properties) ? properties : {};
  const mentionsNone = additionalProperties === undefined && Object.keys(known).length === 0;
  return isOpen || (isOnly && mentionsNone) || Object.keys(value).every((name) => Object.hasOwn(known, name));
}

/** Keywords with which `properties` does not mention all members of a schema. */
const OPEN_KEYWORDS = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];

async function matches({ schema }: ToolDefinition, args: JsonObject, context: CheckContext): Promise<boolean> {
  const { schemas, principal, signal } = context;
  if (!schemas) return false;
  try {
    const check = await schemas.open(schema, { principal, field: "tools", signal });
    return (await check(JSON.stringify(args))) === undefined;
  } catch (error) {
    if (error instanceof ExcursorError && error.kind === "invalid-request") return false;
    throw error;
  }
}
