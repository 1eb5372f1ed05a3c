import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { JsonObject } from "../../core/turn.ts";
import { headerFault } from "../connection/parameter-headers.ts";
import type { HubLimits } from "../limits.ts";

export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** Unchanged, for clients of the hub. */
  readonly annotations: JsonObject | undefined;
  /** Unchanged, for clients of the hub: `title`, `outputSchema`, `icons` and `_meta`, if present. */
  readonly extras?: JsonObject;
}

export interface ToolList {
  readonly tools: readonly ServerTool[];
  /** Problems of tools that were left out, each with its field. */
  readonly problems: readonly string[];
}

// Tools are validated one by one: the SDK would reject the whole list for one bad tool.
const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const MAX_PAGES = 100;
const MAX_DESCRIPTION_CHARS = 8192;

/** Lists a server's tools, all pages. Leaves out invalid tools and reports them. */
export async function listTools(client: Client, limits: HubLimits): Promise<ToolList> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], problems: ["it offers no tools"] };
  const tools: ServerTool[] = [];
  const problems: string[] = [];
  const names = new Set<string>();
  // Only HTTP with the newer protocol sends parameters as headers.
  const hasHeaders = client.getProtocolEra() === "modern";
  let cursor: string | undefined;
  let seen = 0;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method: "tools/list", params }, page, { timeout: limits.callMs });
    for (const entry of result.tools) {
      const place = `tools[${seen++}]`;
      const tool = readTool(entry, place, limits, problems);
      if (!tool) continue;
      const fault = hasHeaders ? headerFault(tool.schema) : undefined;
      if (fault !== undefined) {
        problems.push(`${place}.inputSchema${fault}, for "${tool.name}"`);
        continue;
      }
      if (names.has(tool.name)) problems.push(`${place}.name: "${tool.name}" appears twice`);
      else if (tools.length === limits.tools)
        return { tools, problems: [...problems, `more than ${limits.tools} tools`] };
      else tools.push(tool);
      names.add(tool.name);
    }
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return { tools, problems };
}

function readTool(entry: unknown, place: string, limits: HubLimits, problems: string[]): ServerTool | undefined {
  const fields = (entry ?? {}) as Readonly<Record<string, unknown>>;
  const { name, description, inputSchema, annotations } = fields;
  if (typeof name !== "string" || name === "" || name.length > limits.toolNameChars) {
    problems.push(`${place}.name: expected 1 to ${limits.toolNameChars} characters`);
    return undefined;
  }
  if (!isJsonObject(inputSchema) || (inputSchema["type"] ?? "object") !== "object") {
    problems.push(`${place}.inputSchema: expected the schema of an object, for "${name}"`);
    return undefined;
  }
  const extras = extrasOf(fields);
  return {
    name,
    description: typeof description === "string" ? description.slice(0, MAX_DESCRIPTION_CHARS) : "",
    schema: inputSchema,
    annotations: isJsonObject(annotations) ? annotations : undefined,
    ...(Object.keys(extras).length > 0 && { extras }),
  };
}

/** Returns fields that only clients of the hub use. Leaves out invalid ones. */
function extrasOf({ title, outputSchema, icons, _meta }: Readonly<Record<string, unknown>>): JsonObject {
  return {
    ...(typeof title === "string" && { title }),
    // Older clients reject the whole list for any other type.
    ...(isJsonObject(outputSchema) && outputSchema["type"] === "object" && { outputSchema }),
    ...(Array.isArray(icons) && icons.every((icon) => typeof icon?.src === "string") && { icons }),
    ...(isJsonObject(_meta) && { _meta }),
  };
}
