import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { freeTextSchema } from "../../shared/free-text.ts";
import { type Fields, listOf } from "./fields.ts";

/** Converts tools from any wrapper that clients use to this dialect's own. Everything else stays unchanged. */
export const normaliseTools = (tools: unknown): unknown => (Array.isArray(tools) ? tools.map(normaliseTool) : tools);

/** Returns the names of tools that take free text instead of JSON. */
export const customNames = (tools: unknown): ReadonlySet<string> =>
  new Set(listOf(tools).flatMap((tool) => (isCustom(tool) ? [customOf(tool)["name"]].filter(isText) : [])));

const isText = (value: unknown): value is string => typeof value === "string";

function normaliseTool(tool: unknown): unknown {
  if (!isJsonObject(tool) || isJsonObject(tool["function"])) return tool;
  if (isCustom(tool)) {
    const { name, description, format } = customOf(tool);
    return frame({ name, description, parameters: freeText(format) });
  }
  if (typeof tool["name"] !== "string") return tool;
  const { name, description, parameters, input_schema } = tool;
  return frame({ name, description, parameters: parameters ?? input_schema });
}

const frame = (called: Fields): Fields => ({ type: "function", function: called });

/** Anthropic's clients use `custom` too, for tools with a schema. */
const isCustom = (tool: unknown): tool is Fields =>
  isJsonObject(tool) && tool["type"] === "custom" && tool["input_schema"] === undefined;

const customOf = (tool: Fields): Fields => (isJsonObject(tool["custom"]) ? tool["custom"] : tool);

function freeText(format: unknown): Fields {
  const given = isJsonObject(format) ? format : {};
  const { definition, syntax } = isJsonObject(given["grammar"]) ? given["grammar"] : given;
  return freeTextSchema(isText(syntax) ? syntax : "", isText(definition) ? definition : "");
}

/** Converts `{type: "any"}`, `{type: "tool", name}` and `{type: "function", name}` to this dialect. */
export function normaliseChoice(choice: unknown): unknown {
  if (!isJsonObject(choice) || isJsonObject(choice["function"])) return choice;
  const { type, name } = choice;
  if (type === "any") return "required";
  if (type === "auto" || type === "none" || type === "required") return type;
  if (type !== "tool" && type !== "function" && type !== "custom") return choice;
  return { type: "function", function: { name: isJsonObject(choice["custom"]) ? choice["custom"]["name"] : name } };
}
