import type { JsonObject, ToolDefinition, Turn } from "../../../core/turn.ts";
import { checkForm } from "../../shared/errors/check-form.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import { toolParameters } from "../../shared/tools/tool-definition.ts";
import type { GenerateRequest } from "../schema.ts";
import { toJsonSchema } from "./json-schema.ts";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** Returns the tools to offer, and whether the model must use one. */
export function readTools({ tools: given, toolConfig }: GenerateRequest): Pick<Turn, "tools" | "toolChoice"> {
  const names = new Set<string>();
  const tools = (given ?? []).flatMap(({ functionDeclarations }, index) =>
    (functionDeclarations ?? []).map((declared, at): ToolDefinition => {
      const place = `tools[${index}].functionDeclarations[${at}]`;
      const { name, description, parameters, parametersJsonSchema } = declared;
      if (names.has(name)) throw invalid(`${place}.name`, "another tool has the same name");
      names.add(name);
      const field = `${place}.${parametersJsonSchema ? "parametersJsonSchema" : "parameters"}`;
      const schema = parametersJsonSchema ?? (parameters ? toJsonSchema(parameters) : NO_ARGUMENTS);
      checkParameters(schema, field);
      return { name, description: description ?? "", schema, field };
    }),
  );
  return choose(toolConfig?.functionCallingConfig ?? {}, tools, names);
}

function checkParameters(schema: JsonObject, field: string): void {
  const [issue] = checkForm(toolParameters, schema).error?.issues ?? [];
  if (issue) throw invalid([field, ...issue.path.map(String)].join("."), issue.message);
}

type CallingConfig = NonNullable<NonNullable<GenerateRequest["toolConfig"]>["functionCallingConfig"]>;

function choose(
  { mode, allowedFunctionNames: allowed }: CallingConfig,
  tools: readonly ToolDefinition[],
  names: ReadonlySet<string>,
): Pick<Turn, "tools" | "toolChoice"> {
  const place = "toolConfig.functionCallingConfig";
  const unknown = (allowed ?? []).findIndex((name) => !names.has(name));
  if (unknown !== -1) throw invalid(`${place}.allowedFunctionNames[${unknown}]`, "no tool has this name");
  const offered = allowed?.length ? tools.filter(({ name }) => allowed.includes(name)) : tools;
  if (mode === "NONE") return { tools, toolChoice: { type: "none" } };
  if (mode !== "ANY") return { tools: offered, toolChoice: { type: "auto" } };
  if (tools.length === 0) throw invalid(`${place}.mode`, "there are no tools to choose from");
  const [only] = allowed?.length === 1 ? allowed : [];
  return only === undefined
    ? { tools: offered, toolChoice: { type: "required" } }
    : { tools, toolChoice: { type: "tool", name: only } };
}
