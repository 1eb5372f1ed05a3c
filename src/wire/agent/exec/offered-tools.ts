import type { McpToolDefinition } from "../../../gen/agent/v1/mcp_pb.ts";

/** The MCP tools that a client offers on a run, merged from all places where it may list them. */
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
    // Also by the qualified name, unless that is another tool's plain name.
    for (const definition of definitions) {
      if (!this.#byName.has(definition.name)) this.#byName.set(definition.name, definition);
    }
    this.names = [...names];
  }

  find(name: string): McpToolDefinition | undefined {
    return this.#byName.get(name);
  }

  /** Returns whether two names mean the same tool. */
  isSame(a: string, b: string): boolean {
    const tool = this.find(a);
    // Histories also hold the model's names, with a prefix such as `mcp_provider_`.
    return a === b || (tool !== undefined && (tool === this.find(b) || /^.+[_-]$/.test(prefixOf(b, a) ?? "")));
  }
}

const prefixOf = (name: string, suffix: string): string | undefined =>
  name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;
