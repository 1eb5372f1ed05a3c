import type { JsonObject, ToolChoice, ToolDefinition, Turn } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ChatRequest } from "../schema.ts";

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** Returns the tools to offer, and whether the model must use one. */
export function readTools(request: ChatRequest): Pick<Turn, "tools" | "toolChoice"> {
  const tools = (request.tools ?? []).map(
    ({ function: offered }, index): ToolDefinition => ({
      name: offered.name,
      description: offered.description ?? "",
      schema: offered.parameters ?? NO_ARGUMENTS,
      field: `tools[${index}].function.parameters`,
    }),
  );
  const names = new Set<string>();
  tools.forEach(({ name }, index) => {
    if (names.has(name)) throw invalid(`tools[${index}].function.name`, "another tool has the same name");
    names.add(name);
  });
  return choose(request.tool_choice ?? "auto", tools, names);
}

function choose(
  choice: NonNullable<ChatRequest["tool_choice"]>,
  tools: readonly ToolDefinition[],
  names: ReadonlySet<string>,
): { readonly tools: readonly ToolDefinition[]; readonly toolChoice: ToolChoice } {
  if (typeof choice === "string") {
    if (choice === "required" && tools.length === 0) throw invalid("tool_choice", "there are no tools to choose from");
    return { tools, toolChoice: { type: choice } };
  }
  if (choice.type === "function") {
    const { name } = choice.function;
    if (!names.has(name)) throw invalid("tool_choice.function.name", "no tool has this name");
    return { tools, toolChoice: { type: "tool", name } };
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  allowed.forEach(({ function: { name } }, index) => {
    if (names.has(name)) return;
    throw invalid(`tool_choice.allowed_tools.tools[${index}].function.name`, "no tool has this name");
  });
  const isAllowed = new Set(allowed.map((tool) => tool.function.name));
  return { tools: tools.filter(({ name }) => isAllowed.has(name)), toolChoice: { type: mode } };
}
