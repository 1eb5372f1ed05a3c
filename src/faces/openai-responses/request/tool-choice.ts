import type { Turn } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ResponsesRequest } from "../schema.ts";
import { TOOL_SEARCH, type Toolbox } from "./toolbox.ts";

type Choice = NonNullable<ResponsesRequest["tool_choice"]>;

/** Returns the tools to offer, and whether the model must use one. */
export function chooseTools(choice: Choice, toolbox: Toolbox): Pick<Turn, "tools" | "toolChoice"> {
  const tools = toolbox.definitions();
  if (typeof choice === "string") {
    if (choice === "required" && tools.length === 0) throw invalid("tool_choice", "there are no tools to choose from");
    return { tools, toolChoice: { type: choice } };
  }
  if (choice.type === "allowed_tools" && "mode" in choice) {
    const allowed = new Set(
      // A tool that cannot run here is skipped; the others stay allowed.
      choice.tools.flatMap((tool, index) =>
        isHosted(tool) ? [] : [find(tool, `tool_choice.tools[${index}]`, toolbox)],
      ),
    );
    return { tools: tools.filter(({ name }) => allowed.has(name)), toolChoice: { type: choice.mode } };
  }
  return { tools, toolChoice: { type: "tool", name: find(choice, "tool_choice", toolbox) } };
}

interface NamedTool {
  readonly type: string;
  readonly name?: string | null | undefined;
  readonly namespace?: string | null | undefined;
}

const isHosted = ({ type, name }: NamedTool): boolean => type !== TOOL_SEARCH && !name;

function find({ type, name, namespace }: NamedTool, field: string, toolbox: Toolbox): string {
  const wanted = type === TOOL_SEARCH ? TOOL_SEARCH : name;
  if (!wanted) throw invalid(`${field}.type`, "expected a function or a custom tool: other kinds are not supported");
  if (!toolbox.has(wanted, namespace)) throw invalid(`${field}.name`, "no tool has this name");
  return toolbox.nameFor(wanted, namespace);
}
