import type { JsonObject, ToolDefinition } from "../../core/turn.ts";
import { invalid } from "../shared/invalid.ts";
import type { RequestTool } from "./tool-schema.ts";

/** A tool of the client's, by the names that the client knows. */
export interface ClientTool {
  /** Which kind of item a call of it is. */
  readonly kind: "function" | "custom" | "tool-search";
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Who calls something that was never offered calls a function of that name. */
const unknownTool = (name: string): ClientTool => ({ kind: "function", name, namespace: undefined });

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {} };

/** What a call of a tool search is named, which has no name of its own. */
export const TOOL_SEARCH = "tool_search";

/**
 * All tools of a request, and what the model knows them as. A model has one flat list of functions with JSON arguments:
 * a tool in a namespace gets its bare name there if nobody else has it, and one that takes free text gets it as `input`.
 */
export class Toolbox {
  readonly #tools = new Map<string, ClientTool & Omit<ToolDefinition, "name">>();
  readonly #hosted = new Set<string>();
  #offered: ReadonlyMap<string, ClientTool> | undefined;
  #names: ReadonlyMap<string, string> | undefined;

  /** Those of the field `tools`, none of them twice. */
  add(tools: readonly RequestTool[]): void {
    tools.forEach((tool, index) => {
      const before = this.#tools.size;
      const added = this.#put(tool, `tools[${index}]`);
      if (this.#tools.size !== before + added) throw invalid(`tools[${index}]`, "there is a tool of this name already");
    });
  }

  /** Those that items of the conversation bring along, some of them again and again: the last one counts. */
  bring(tools: readonly RequestTool[], field: string): void {
    for (const [index, tool] of tools.entries()) this.#put(tool, `${field}.tools[${index}]`);
  }

  get size(): number {
    return this.#tools.size;
  }

  /** Types of tools that only OpenAI's servers have. */
  get hostedTypes(): readonly string[] {
    return [...this.#hosted];
  }

  /** What the model is offered. */
  definitions(): readonly ToolDefinition[] {
    return [...this.#tools].map(([key, { description, schema, field }]) => ({
      name: this.#nameOf(key),
      description,
      schema,
      ...(field !== undefined && { field }),
    }));
  }

  /** The tool behind a name that the model has used. */
  find(name: string): ClientTool {
    this.#offered ??= new Map([...this.#tools].map(([key, tool]) => [this.#nameOf(key), tool]));
    return this.#offered.get(name) ?? unknownTool(name);
  }

  /** What the model knows a tool as, whether or not it is among these. */
  nameFor(name: string, namespace: string | null | undefined): string {
    return this.#nameOf(keyOf(name, namespace ?? undefined));
  }

  has(name: string, namespace: string | null | undefined): boolean {
    return this.#tools.has(keyOf(name, namespace ?? undefined));
  }

  /** How many tools it held. `place`: where it is in the request. */
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
        return this.#set({ kind: "custom", name, namespace }, { description, schema: inputSchema(format), field });
      }
      case "tool_search": {
        // One that is not the client's to run would find nothing that is not offered already.
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

/** What a request says of a tool besides its name. */
interface Given {
  readonly description: string | null | undefined;
  readonly schema: JsonObject | null | undefined;
  readonly field: string;
}

/** Also the name under which it is offered where its bare name is taken. */
const keyOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

function namesOf(tools: ReadonlyMap<string, ClientTool>): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of tools.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...tools].map(([key, { name }]) => [key, counts.get(name) === 1 ? name : key]));
}

type Format = Extract<RequestTool, { type: "custom" }>["format"];

/** Free text, in the only argument. No model here can be held to a grammar, but it can be told of it. */
function inputSchema(format: Format): JsonObject {
  const grammar = format?.definition ? ` It must match this ${format.syntax ?? ""} grammar:\n${format.definition}` : "";
  const description = `The whole input of the tool, as free text.${grammar}`;
  return { type: "object", properties: { input: { type: "string", description } }, required: ["input"] };
}
