import type { McpToolDefinition } from "../../../gen/agent/v1/mcp_pb.ts";

/** The MCP tools that a client offers on a run, merged from all the places where it may list them. */
export class OfferedTools {
  readonly #byName = new Map<string, McpToolDefinition>();
  readonly names: readonly string[];

  constructor(definitions: readonly McpToolDefinition[]) {
    const names = new Set<string>();
    for (const definition of definitions) {
      const name = definition.toolName || definition.name;
      if (names.has(name)) continue;
      names.add(name);
      this.#byName.set(name, definition);
    }
    // By their qualified name, unless that is the plain name of another tool.
    for (const definition of definitions) {
      if (!this.#byName.has(definition.name)) this.#byName.set(definition.name, definition);
    }
    this.names = [...names];
  }

  find(name: string): McpToolDefinition | undefined {
    return this.#byName.get(name);
  }

  /** Whether two names mean the same tool. */
  isSame(a: string, b: string): boolean {
    const tool = this.find(a);
    // Histories also hold names as the model saw them, with a prefix such as `mcp_provider_`.
    return a === b || (tool !== undefined && (tool === this.find(b) || /^.+[_-]$/.test(prefixOf(b, a) ?? "")));
  }
}

const prefixOf = (name: string, suffix: string): string | undefined =>
  name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;
