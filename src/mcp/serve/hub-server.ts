import { randomUUID } from "node:crypto";
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { HubCallEntry, HubCallLog } from "../../core/engine/call-log.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Elicit, Elicitation, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import { unlessGone } from "../../core/ignored-failures.ts";
import type { JsonObject, Principal } from "../../core/turn.ts";
import type { CallStep, PausedCalls } from "../connection/paused-calls.ts";
import { UNCHECKED_SCHEMAS } from "../connection/unchecked-schemas.ts";
import type { Hub } from "../hub.ts";

export interface HubServerOptions {
  /** Shared by all instances. */
  readonly paused: PausedCalls<CallToolResult>;
  readonly callLog?: HubCallLog | undefined;
}

/** The name of the question; a client is asked one at a time. */
const QUESTION = "question";

/**
 * The hub as one MCP server. Its clients get the tools of all servers, under their names in the catalogue. Results and
 * questions are passed on unchanged. There is one instance for each connection, or for each request.
 */
export function createHubServer(hub: Hub, principal: Principal, { paused, callLog }: HubServerOptions): Server {
  const server = new Server(
    { name: "excursor", version: "1" },
    {
      capabilities: { tools: { listChanged: true } },
      inputRequired: { maxRounds: MAX_ROUNDS },
      jsonSchemaValidator: UNCHECKED_SCHEMAS,
    },
  );
  const catalogue = async (signal: AbortSignal) => {
    // Waits briefly for servers that are starting.
    await hub.open(principal, signal);
    return hub.catalogueFor(principal);
  };
  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => {
    const tools = [...(await catalogue(mcpReq.signal)).values()].map(({ name, description, schema, tool }) => ({
      name,
      description,
      inputSchema: { ...schema, type: "object" as const },
      ...(tool.annotations && { annotations: tool.annotations }),
      ...tool.extras,
    }));
    return { tools };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { signal } = mcpReq;
    const { name } = params;
    const owner = JSON.stringify([principal.id, name]);
    try {
      const ticket = mcpReq.requestState<string>();
      if (ticket !== undefined) {
        const given = answerIn(mcpReq.inputResponses);
        const resumed = paused.resume(owner, String(ticket), given, signal);
        return resumed
          ? outcome(await resumed)
          : failed("The call was cancelled: its question was not answered in time.");
      }
      const found = (await catalogue(signal)).get(name);
      const place = found && { server: found.connection.name, serverTool: found.tool.name };
      const [callId, requestId] = [randomUUID(), String(mcpReq.id).slice(0, 128)];
      const record = (type: HubCallEntry["type"], facts: Partial<HubCallEntry> = {}): void =>
        callLog?.({ type, callId, tool: name, ...place, principalId: principal.id, requestId, ...facts });
      record("asked");
      if (!found) record("finished", { outcome: "refused" });
      if (!found) return failed(`The tool ${JSON.stringify(name.slice(0, 64))} does not exist.`);
      // In the newer version of the protocol each request has the capabilities.
      const envelope = mcpReq.envelope as { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined;
      const asks = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities())?.elicitation;
      const begun = paused.begin(
        owner,
        recorded(record, async (elicit, callSignal) => {
          const result = await found.connection.call(found.tool.name, (params.arguments ?? {}) as JsonObject, {
            signal: callSignal,
            // The first version of the protocol with questions had forms only, so a client that declares nothing
            // supports them.
            elicit: (question, ...rest) =>
              (question.url === undefined ? asks && (asks.form || !asks.url) : asks?.url)
                ? elicit(question, ...rest)
                : Promise.resolve({ action: "decline" }),
            onProgress: progressTo(mcpReq, params._meta?.progressToken),
          });
          return found.connection.readLinks(result, callSignal);
        }),
        signal,
      );
      return outcome(await begun);
    } catch (error) {
      signal.throwIfAborted();
      return failed(ExcursorError.from(error).message);
    }
  });
  return server;
}

type CallWork = (elicit: Elicit, signal: AbortSignal) => Promise<CallToolResult>;

function recorded(
  record: (type: HubCallEntry["type"], facts?: Partial<HubCallEntry>) => void,
  work: CallWork,
): CallWork {
  return async (elicit, signal) => {
    const startedAt = performance.now();
    const finish = (facts: Partial<HubCallEntry>) =>
      record("finished", { ms: Math.round(performance.now() - startedAt), ...facts });
    record("started");
    try {
      const result = await work(elicit, signal);
      const bytes = Buffer.byteLength(JSON.stringify(result.content ?? []));
      finish({ outcome: result.isError ? "error" : "ok", bytes });
      return result;
    } catch (error) {
      finish({ outcome: signal.aborted ? "canceled" : "error" });
      throw error;
    }
  };
}

const MAX_ROUNDS = 32;

type McpRequest = ServerContext["mcpReq"];

function progressTo(mcpReq: McpRequest, progressToken: string | number | undefined) {
  return (progress: object): void => {
    if (progressToken === undefined || mcpReq.signal.aborted) return;
    const notification = { method: "notifications/progress", params: { ...progress, progressToken } };
    void unlessGone(mcpReq.notify(notification as never));
  };
}

function outcome(step: CallStep<CallToolResult>): CallToolResult | InputRequiredResult {
  if (step.type === "asks") {
    return inputRequired({ inputRequests: { [QUESTION]: requestFor(step.question) }, requestState: step.ticket });
  }
  const { content, structuredContent, isError, _meta } = step.result;
  return {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError !== undefined && { isError }),
    ...(_meta && { _meta }),
  };
}

function requestFor({ server, message, schema, url }: Elicitation) {
  const text = `${server}: ${message}`;
  if (url !== undefined) return inputRequired.elicitUrl({ message: text, url });
  return inputRequired.elicit({ message: text, requestedSchema: schema as never });
}

/** Returns the client's answer. A missing answer counts as cancelled. */
function answerIn(responses: McpRequest["inputResponses"]): ElicitationAnswer {
  const given = inputResponse(responses, QUESTION);
  if (given.kind !== "elicit") return { action: "cancel" };
  if (given.action !== "accept") return { action: given.action };
  return { action: "accept", content: (given.content ?? {}) as never };
}

const failed = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true });
