import type { JsonObject, ToolDefinition } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import { freeTextSchema } from "../../shared/free-text.ts";
import type { RequestTool } from "./tool-schema.ts";

/** A tool under the names that the client uses. */
export interface ClientTool {
  /** The kind of item that a call becomes. */
  readonly kind: "function" | "custom" | "tool-search";
  readonly name: string;
  readonly namespace: string | undefined;
}

/** A call of a tool that was not offered counts as a function call. */
const unknownTool = (name: string): ClientTool => ({ kind: "function", name, namespace: undefined });

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** The name of a tool search, which has none of its own. */
export const TOOL_SEARCH = "tool_search";

/**
 * The tools of a request, and the names the model sees. A model has one flat list of functions with JSON arguments. A
 * tool in a namespace keeps its bare name if that is unique; free text becomes the argument `input`.
 */
export class Toolbox {
  readonly #tools = new Map<string, ClientTool & Omit<ToolDefinition, "name">>();
  readonly #hosted = new Set<string>();
  #offered: ReadonlyMap<string, ClientTool> | undefined;
  #names: ReadonlyMap<string, string> | undefined;

  /** Adds the tools of the field `tools`. Throws if one is repeated. */
  add(tools: readonly RequestTool[]): void {
    tools.forEach((tool, index) => {
      const before = this.#tools.size;
      const added = this.#put(tool, `tools[${index}]`);
      if (this.#tools.size !== before + added) throw invalid(`tools[${index}]`, "another tool has the same name");
    });
  }

  /** Adds tools from items of the conversation. Items may repeat a tool; the last one counts. */
  bring(tools: readonly RequestTool[], field: string): void {
    for (const [index, tool] of tools.entries()) this.#put(tool, `${field}.tools[${index}]`);
  }

  get size(): number {
    return this.#tools.size;
  }

  /** Types of tools that only OpenAI's servers can run. */
  get hostedTypes(): readonly string[] {
    return [...this.#hosted];
  }

  definitions(): readonly ToolDefinition[] {
    return [...this.#tools].map(([key, { description, schema, field }]) => ({
      name: this.#nameOf(key),
      description,
      schema,
      ...(field !== undefined && { field }),
    }));
  }

  find(name: string): ClientTool {
    this.#offered ??= new Map([...this.#tools].map(([key, tool]) => [this.#nameOf(key), tool]));
    return this.#offered.get(name) ?? unknownTool(name);
  }

  /** Returns the model's name for a tool, known or not. */
  nameFor(name: string, namespace: string | null | undefined): string {
    return this.#nameOf(keyOf(name, namespace ?? undefined));
  }

  has(name: string, namespace: string | null | undefined): boolean {
    return this.#tools.has(keyOf(name, namespace ?? undefined));
  }

  /** Returns how many tools were added. `place` is the tool's place in the request. */
  #put(tool: RequestTool, place: string, namespace?: string): number {
    const field = `${place}.parameters`;
    switch (tool.type) {
      case "hosted":
        this.#hosted.add(tool.hostedType);
        return 0;
      case "namespace":
        return tool.tools.reduce(
          (count, inner, index) => count + this.#put(inner, `${place}.tools[${index}]`, tool.name),
          0,
        );
      case "function": {
        const { name, description, parameters: schema } = tool;
        return this.#set({ kind: "function", name, namespace }, { description, schema, field });
      }
      case "custom": {
        const { name, description, format } = tool;
        return this.#set(
          { kind: "custom", name, namespace },
          { description, schema: freeTextSchema(format?.syntax ?? "", format?.definition ?? ""), field },
        );
      }
      case "tool_search": {
        // A search on OpenAI's side has nothing to find: all its tools are offered already.
        if (tool.execution !== "client") return 0;
        const { description, parameters: schema } = tool;
        return this.#set({ kind: "tool-search", name: TOOL_SEARCH, namespace }, { description, schema, field });
      }
      default:
        return tool satisfies never;
    }
  }

  #set(tool: ClientTool, { description, schema, field }: Given): number {
    this.#names = undefined;
    this.#offered = undefined;
    const definition = { description: description ?? "", schema: schema ?? NO_ARGUMENTS, field };
    this.#tools.set(keyOf(tool.name, tool.namespace), { ...tool, ...definition });
    return 1;
  }

  #nameOf(key: string): string {
    this.#names ??= namesOf(this.#tools);
    return this.#names.get(key) ?? key;
  }
}

interface Given {
  readonly description: string | null | undefined;
  readonly schema: JsonObject | null | undefined;
  readonly field: string;
}

/** Also the name that the model sees if the bare name is not unique. */
const keyOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

function namesOf(tools: ReadonlyMap<string, ClientTool>): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of tools.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...tools].map(([key, { name }]) => [key, counts.get(name) === 1 ? name : key]));
}
