import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

interface OAuthOptions {
  /** What its authorization server says of itself, over what it would say. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** A tool call needs this, a sign-in is asked for `read`. */
  readonly callScope?: string;
  /** Over what the tokens say. */
  readonly resource?: string;
}

/**
 * An MCP server that wants a sign-in, and its authorization server, without any SDK. It is strict: the challenge of PKCE,
 * the redirect address and the resource are compared, and a refresh token that comes twice costs the whole sign-in.
 */
export async function startOAuthServer({ metadata, callScope = "read", resource }: OAuthOptions = {}) {
  const clients = new Map<string, { redirect_uris: string[] }>();
  const codes = new Map<string, { challenge: string; redirect: string; scope: string }>();
  const access = new Map<string, string>();
  const refresh = new Map<string, { scope: string; isUsed: boolean }>();
  const asked: { path: string; headers: IncomingMessage["headers"]; query: URLSearchParams; body: string }[] = [];
  let [calls, tokenStatus] = [0, 200];

  const issue = (scope: string) => {
    const [accessToken, refreshToken] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    access.set(accessToken, scope);
    refresh.set(refreshToken, { scope, isUsed: false });
    return { access_token: accessToken, refresh_token: refreshToken, token_type: "Bearer", expires_in: 3600, scope };
  };

  const grant = (form: URLSearchParams): object => {
    if (form.get("resource") !== `${origin()}/mcp`) return { error: "invalid_target" };
    if (form.get("grant_type") === "refresh_token") {
      const kept = refresh.get(form.get("refresh_token") ?? "");
      if (!kept || kept.isUsed) {
        refresh.clear();
        access.clear();
        return { error: "invalid_grant", error_description: "used twice" };
      }
      kept.isUsed = true;
      return issue(kept.scope);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!code || code.challenge !== challenge || code.redirect !== form.get("redirect_uri")) {
      return { error: "invalid_grant" };
    }
    return issue(code.scope);
  };

  const answerMcp = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const scope = access.get(request.headers.authorization?.replace(/^Bearer /, "") ?? "");
    const prm = `resource_metadata="${origin()}/.well-known/oauth-protected-resource/mcp"`;
    if (scope === undefined) {
      response.writeHead(401, { "www-authenticate": `Bearer ${prm}, scope="read"` }).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const { id, method, params } = JSON.parse(body);
    const reply = (result: object) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (id === undefined) response.writeHead(202).end();
    else if (method === "initialize") {
      const { protocolVersion } = params;
      reply({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "oauth", version: "1" } });
    } else if (method === "tools/list") reply({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
    else if (method === "tools/call" && !scope.split(" ").includes(callScope)) {
      const challenge = `Bearer error="insufficient_scope", scope="${callScope}", ${prm}`;
      response.writeHead(403, { "www-authenticate": challenge }).end();
    } else if (method === "tools/call") {
      calls++;
      reply({ content: [{ type: "text", text: JSON.stringify(params.arguments) }] });
    } else response.writeHead(400).end();
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    const body = await text(request);
    asked.push({ path: url.pathname, headers: request.headers, query: url.searchParams, body });
    const json = (value: object, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    switch (url.pathname) {
      case "/mcp":
        return answerMcp(request, response, body);
      case "/.well-known/oauth-protected-resource/mcp":
        return json({ resource: resource ?? `${origin()}/mcp`, authorization_servers: [`${origin()}/as`] });
      case "/.well-known/oauth-authorization-server/as":
        return json({
          issuer: `${origin()}/as`,
          authorization_endpoint: `${origin()}/authorize`,
          token_endpoint: `${origin()}/token`,
          registration_endpoint: `${origin()}/register`,
          revocation_endpoint: `${origin()}/revoke`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          ...metadata,
        });
      case "/register": {
        const client = { ...JSON.parse(body), client_id: randomUUID(), client_secret: `secret-${randomUUID()}` };
        clients.set(client.client_id, client);
        return json(client, 201);
      }
      case "/authorize": {
        const [redirect, code] = [url.searchParams.get("redirect_uri") ?? "", randomUUID()];
        const client = clients.get(url.searchParams.get("client_id") ?? "");
        if (!client?.redirect_uris.includes(redirect)) return json({ error: "invalid_request" }, 400);
        const scope = url.searchParams.get("scope") ?? "";
        codes.set(code, { challenge: url.searchParams.get("code_challenge") ?? "", redirect, scope });
        const back = new URL(redirect);
        back.searchParams.set("code", code);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        return response.writeHead(302, { location: back.href }).end();
      }
      case "/token": {
        if (tokenStatus !== 200) return json({ error: "server_error" }, tokenStatus);
        const answer = grant(new URLSearchParams(body));
        return json(answer, "error" in answer ? 400 : 200);
      }
      case "/revoke":
        refresh.delete(new URLSearchParams(body).get("token") ?? "");
        return json({});
      default:
        return response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin()}/mcp`,
    asked,
    pathsAsked: () => asked.map(({ path }) => path),
    /** How many sign-ins could still be renewed. */
    renewable: () => [...refresh.values()].filter(({ isUsed }) => !isUsed).length,
    count: (path: string) => asked.filter((one) => one.path === path).length,
    calls: () => calls,
    /** All access tokens are too old from now on. */
    expire: () => access.clear(),
    /** Somebody has thrown us out. */
    revoke: () => {
      access.clear();
      refresh.clear();
    },
    breakTokens: (status: number) => {
      tokenStatus = status;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
