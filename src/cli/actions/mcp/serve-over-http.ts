import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type CallToolResult, createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import type { Limits } from "../../../config/limits.ts";
import type { HubCallLog } from "../../../core/engine/call-log.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { unlessGone } from "../../../core/ignored-failures.ts";
import type { Secret } from "../../../core/secret.ts";
import type { Principal } from "../../../core/turn.ts";
import { httpStatus, publicCode } from "../../../faces/shared/errors/http-errors.ts";
import { PausedCalls } from "../../../mcp/connection/paused-calls.ts";
import type { Hub } from "../../../mcp/hub.ts";
import { HUB_LIMITS } from "../../../mcp/limits.ts";
import { answerByFetch } from "../../../mcp/serve/fetch-handler.ts";
import { type GivenRequest, HttpSessions } from "../../../mcp/serve/http-sessions.ts";
import { createHubServer } from "../../../mcp/serve/hub-server.ts";
import { Admission } from "../../../server/gate/admission.ts";
import { createGate } from "../../../server/gate/gate.ts";
import type { KnownKeys } from "../../../server/gate/keys/known-keys.ts";
import { checkBind } from "../../../server/gate/public-bind.ts";
import { listen } from "../../../server/listener.ts";
import { readJson } from "../../../server/read-json.ts";
import { Refusal } from "../../../server/refusal.ts";

export interface HubHttpOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly key: Secret;
  readonly keys: KnownKeys;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly limits: Limits;
  /** Returns how many requests a principal may make in a minute; undefined if there is no limit. */
  readonly requestsPerMinuteOf?: ((principalId: string) => number | undefined) | undefined;
  readonly callLog?: HubCallLog;
}

export interface ServedHub {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = "/mcp";

/**
 * Serves the hub over HTTP, behind the same gate as the gateway: Host, Origin, key. Each key gets the tools that it may
 * use.
 */
export async function serveHubOverHttp(hub: Hub, options: HubHttpOptions): Promise<ServedHub> {
  const { host, limits, callLog } = options;
  checkBind(host);
  const paused = new PausedCalls<CallToolResult>(HUB_LIMITS.elicitationMs);
  const create = (clientId?: string) => createHubServer(hub, principalOf(clientId), { paused, callLog });
  const modern = createMcpHandler(({ authInfo }) => create(authInfo?.clientId), { legacy: "reject" });
  const sessions = new HttpSessions({ create });
  hub.onChange(() => {
    modern.notify.toolsChanged();
    for (const server of sessions.servers) void unlessGone(server.sendToolListChanged());
  });
  const answer = async (request: Request, given: GivenRequest): Promise<Response> =>
    (await isLegacyRequest(request, given.parsedBody)) ? sessions.fetch(request, given) : modern.fetch(request, given);

  const admission = new Admission({ limits, requestsPerMinuteOf: options.requestsPerMinuteOf });
  const { bodies } = admission;
  /** Reads a body within the limits; the SDK would read it without any. */
  const readBody = async (request: IncomingMessage, response: ServerResponse, sender: string): Promise<object> => {
    if (request.method !== "POST") return {};
    const { signal } = new AbortController();
    return { parsedBody: await readJson({ request, response, unverified: undefined, bodies, sender, signal }, limits) };
  };

  const active = new Set<IncomingMessage>();
  const trusted = new WeakSet<Socket>();
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    active.add(request);
    response.on("close", () => active.delete(request));
    try {
      const principal = await gate(request, false);
      trusted.add(request.socket);
      if (request.url !== PATH) throw new ExcursorError("unknown_path", `MCP is at ${PATH}.`);
      if (!principal) return;
      const { id: clientId } = principal;
      const seat = admission.seat(principal);
      response.on("close", () => seat.leave());
      await seat.admitted;
      const authInfo = { token: "", clientId, scopes: [] };
      const body = await readBody(request, response, clientId);
      await answerByFetch(request, response, (asked) => answer(asked, { authInfo, ...body }));
    } catch (thrown) {
      refuse(response, ExcursorError.from(thrown));
    }
  };
  const listener = await listen({
    host,
    port: options.port,
    limits,
    onRequest: (...pair) => void onRequest(...pair),
    use: { busy: () => new Set([...active].map(({ socket }) => socket)), isTrusted: (socket) => trusted.has(socket) },
  });
  const { port } = listener;
  const gate = createGate({ ...options, port, allowsTokens: false });
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}${PATH}`,
    async close() {
      await Promise.all([modern.close(), sessions.close()]);
      await listener.close();
    },
  };
}

const principalOf = (id = ""): Principal => ({ id, token: undefined });

const PARSE_ERROR = -32_700;

/** Sends an HTTP error. JSON-RPC has no code for it, but clients look at the status. */
function refuse(response: ServerResponse, error: ExcursorError): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const [status, headers] = error instanceof Refusal ? [error.status, error.headers] : [httpStatus(error.kind), {}];
  response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  const { message } = error;
  const code = publicCode(error);
  const answer =
    code === "invalid_json"
      ? { jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message } }
      : { error: { code, message } };
  response.end(JSON.stringify(answer));
}
