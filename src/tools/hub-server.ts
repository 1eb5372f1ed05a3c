import { type CallToolResult, Server, type ServerContext } from "@modelcontextprotocol/server";
import { ExcursorError } from "../core/errors.ts";
import type { Elicit } from "../core/tool-hub.ts";
import type { JsonObject, Principal } from "../core/turn.ts";
import type { Hub } from "./hub.ts";
import { UNCHECKED_SCHEMAS } from "./unchecked-schemas.ts";

/**
 * The hub as one MCP server: whoever connects to it has the tools of all servers, under their names in the catalogue.
 * What a tool gives back is passed on as it came. One instance for each connection.
 */
export function createHubServer(hub: Hub, principal: Principal): Server {
  const server = new Server(
    { name: "excursor", version: "1" },
    { capabilities: { tools: { listChanged: true } }, jsonSchemaValidator: UNCHECKED_SCHEMAS },
  );
  const catalogue = async (signal: AbortSignal) => {
    // Servers that are just being started are worth a moment.
    await hub.open(principal, signal);
    return hub.catalogueFor(principal);
  };
  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => {
    const tools = [...(await catalogue(mcpReq.signal)).values()].map(({ name, description, schema, tool }) => ({
      name,
      description,
      inputSchema: { ...schema, type: "object" as const },
      ...(tool.annotations && { annotations: tool.annotations }),
    }));
    return { tools };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { signal } = mcpReq;
    const found = (await catalogue(signal)).get(params.name);
    if (!found) return failed(`There is no tool ${JSON.stringify(params.name.slice(0, 64))} here.`);
    const progressToken = params._meta?.progressToken;
    try {
      return await found.connection.call(found.tool.name, (params.arguments ?? {}) as JsonObject, {
        signal,
        elicit: passOn(mcpReq),
        onProgress: (progress) => {
          if (progressToken === undefined) return;
          const notification = { method: "notifications/progress", params: { ...progress, progressToken } };
          mcpReq.notify(notification).catch(() => {});
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      return failed(ExcursorError.from(error).message);
    }
  });
  return server;
}

const failed = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true });

/** A question of a tool's is asked by whoever has the user. One that cannot ask declines. */
function passOn(mcpReq: ServerContext["mcpReq"]): Elicit {
  return async ({ server, message, schema }, signal) => {
    try {
      const requestedSchema = schema as never;
      const answer = await mcpReq.elicitInput(
        { mode: "form", message: `${server}: ${message}`, requestedSchema },
        { signal },
      );
      return answer.action === "accept"
        ? { action: "accept", content: answer.content ?? {} }
        : { action: answer.action };
    } catch {
      return { action: "decline" };
    }
  };
}
