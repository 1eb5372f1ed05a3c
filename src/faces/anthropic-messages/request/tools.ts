import type { ToolChoice, ToolDefinition, Turn } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { CountRequest, RequestMessage, RequestTool } from "../schema.ts";
import { builtInTool } from "./built-in-tools.ts";

interface OfferedTools extends Pick<Turn, "tools" | "toolChoice" | "allowsParallelCalls"> {
  /** Server-side tools that only Anthropic can run, by their place in the request. */
  readonly ignored: readonly string[];
}

/** Returns the tools to offer, and whether the model must use one. */
export function readTools({ tools: listed, tool_choice: choice, messages }: CountRequest): OfferedTools {
  const changes = toolChanges(messages);
  const all = [...(listed ?? []), ...changes.defined];
  const names = new Set<string>();
  const ignored: string[] = [];
  const tools: ToolDefinition[] = [];
  // A tool search on Anthropic's side does not run here, so its deferred tools are all offered.
  const canSearch = !all.some(({ type }) => type?.startsWith("tool_search_tool"));
  all.forEach((tool, index) => {
    const place = `tools[${index}]`;
    const definition = defineTool(tool, place);
    if (!definition) {
      ignored.push(place);
      return;
    }
    const { name } = definition;
    if (names.has(name)) throw invalid(`${place}.name`, "another tool has the same name");
    names.add(name);
    const isOffered = !(tool.defer_loading && canSearch) || changes.added.has(name);
    if (isOffered && !changes.removed.has(name)) tools.push(definition);
  });
  return {
    tools,
    toolChoice: readChoice(choice, names),
    allowsParallelCalls: !(choice && "disable_parallel_tool_use" in choice && choice.disable_parallel_tool_use),
    ignored,
  };
}

/** Returns undefined for a tool that runs at Anthropic. */
function defineTool({ type, name, description, input_schema }: RequestTool, place: string): ToolDefinition | undefined {
  if (type && type !== "custom") return builtInTool(type, name);
  if (!name) throw invalid(`${place}.name`, "expected a string, got nothing");
  if (!input_schema) throw invalid(`${place}.input_schema`, "expected an object, got nothing");
  return { name, description: description ?? "", schema: input_schema, field: `${place}.input_schema` };
}

function readChoice(choice: CountRequest["tool_choice"], names: ReadonlySet<string>): ToolChoice {
  switch (choice?.type) {
    case undefined:
    case "auto":
      return { type: "auto" };
    case "none":
      return { type: "none" };
    case "any":
      if (names.size === 0) throw invalid("tool_choice", "there are no tools to choose from");
      return { type: "required" };
    case "tool":
      if (!names.has(choice.name)) throw invalid("tool_choice.name", "no tool has this name");
      return { type: "tool", name: choice.name };
    default:
      return choice satisfies never;
  }
}

interface ToolChanges {
  readonly defined: readonly RequestTool[];
  /** By the client's own tool search, or by an instruction. */
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** Returns the changes of the tools within the conversation. */
function toolChanges(messages: readonly RequestMessage[]): ToolChanges {
  const defined: RequestTool[] = [];
  const added = new Set<string>();
  const removed = new Set<string>();
  const add = (name: string) => {
    added.add(name);
    removed.delete(name);
  };
  for (const { role, content } of messages) {
    if (role === "assistant" || typeof content === "string") continue;
    for (const block of content ?? []) {
      if (block.type === "tool_removal") removed.add(block.tool.name);
      if (block.type === "tool_addition") {
        const { tool } = block;
        if (tool.type === "tool_definition") defined.push({ ...tool.definition, defer_loading: false });
        else add(tool.name);
      }
      if (block.type !== "tool_result" || !Array.isArray(block.content)) continue;
      for (const part of block.content) if (part.type === "tool_reference") add(part.tool_name);
    }
  }
  return { defined, added, removed };
}
