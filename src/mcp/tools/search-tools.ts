import type { JsonObject, ToolDefinition } from "../../core/turn.ts";
import type { ToolCatalogue } from "./tool-catalogue.ts";

/**
 * Two tools that replace many. The schemas of hundreds of tools would cost tokens with every request, so the model
 * searches for a tool and then calls it.
 */
export const SEARCH_TOOL = "hub_search";
export const CALL_TOOL = "hub_call";

const MAX_FOUND = 20;
const FOUND = 8;

export function searchTools(catalogue: ToolCatalogue): readonly ToolDefinition[] {
  const servers = [...new Set([...catalogue.values()].map(({ connection }) => connection.name))].slice(0, 50);
  return [
    {
      name: SEARCH_TOOL,
      description: `Finds tools by words. There are ${catalogue.size} tools, of: ${servers.join(", ")}. Gives back name, description and input schema of those that fit best; call them by ${CALL_TOOL}.`,
      schema: {
        type: "object",
        properties: {
          query: { type: "string", description: "What the tool should do, in a few words; or a server's name" },
          limit: { type: "integer", minimum: 1, maximum: MAX_FOUND, default: FOUND },
        },
        required: ["query"],
      },
    },
    {
      name: CALL_TOOL,
      description: `Calls a tool that ${SEARCH_TOOL} has found.`,
      schema: {
        type: "object",
        properties: {
          name: { type: "string", description: `The name, as ${SEARCH_TOOL} gives it` },
          arguments: { type: "object", description: "What its input schema asks for" },
        },
        required: ["name"],
      },
    },
  ];
}

/** Returns the tools that match a query best, as text for the model. */
export function findTools(catalogue: ToolCatalogue, { query, limit }: JsonObject): string {
  const wanted = wordsOf(typeof query === "string" ? query : "");
  const count = Math.min(MAX_FOUND, typeof limit === "number" && limit >= 1 ? Math.floor(limit) : FOUND);
  const texts = [...catalogue.values()].map((tool) => ({
    tool,
    name: wordsOf(tool.name),
    description: wordsOf(tool.description),
  }));
  // A word that every tool has tells nothing.
  const weights = new Map(
    wanted.map((word) => {
      const found = texts.filter(({ name, description }) => hasWord(name, word) || hasWord(description, word)).length;
      return [word, found === 0 ? 0 : Math.log(1 + texts.length / found)] as const;
    }),
  );
  const ranked = texts
    .map(({ tool, name, description }) => {
      let score = 0;
      for (const [word, weight] of weights) {
        score += weight * ((hasWord(name, word) ? 3 : 0) + (hasWord(description, word) ? 1 : 0));
      }
      return { tool, score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  if (ranked.length === 0) return `No tool fits these words. There are ${catalogue.size}; try others.`;
  const found = ranked.slice(0, count).map(({ tool: { name, description, schema } }) => ({
    name,
    description,
    inputSchema: schema,
  }));
  return JSON.stringify(found);
}

const wordsOf = (text: string): string[] =>
  text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1);

/** `file` matches `files`. */
const hasWord = (words: readonly string[], word: string): boolean =>
  words.some((candidate) => candidate.startsWith(word) || (candidate.length > 3 && word.startsWith(candidate)));
