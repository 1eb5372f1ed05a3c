import type { JsonObject } from "../../../src/core/turn.ts";
import { ServerConnection } from "../../../src/mcp/connection/server-connection.ts";
import { HUB_LIMITS } from "../../../src/mcp/limits.ts";
import { createAuthorization } from "../../../src/mcp/oauth/authorization.ts";
import { createMemoryLogins } from "../../../src/mcp/oauth/login-store.ts";
import { openLoopbackConsent } from "../../../src/mcp/oauth/loopback-consent.ts";
import { readServers } from "../../../src/mcp/servers/server-config.ts";
import { createWatchdog } from "../../../src/process/watchdog.ts";

/**
 * Our connection, as the conformance suite runs it: it is given an address, signs in where that is asked for, and uses
 * every tool that it finds there. The person with the browser says yes to everything.
 */
interface Given {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

const given = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Given;
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";

const oauth = {
  ...(scenario.startsWith("auth/client-credentials") && { grant: "client_credentials" }),
  ...(scenario === "auth/basic-cimd" && {
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  }),
  ...(given.client_id && { clientId: given.client_id }),
  ...(given.client_secret && { clientSecret: given.client_secret }),
  ...(given.private_key_pem && { privateKey: given.private_key_pem, algorithm: given.signing_algorithm }),
};
const entries = { conformance: { type: "http", url: process.argv.at(-1), oauth } };
const { servers, problems } = readServers(entries, "test", { environment: {}, userHome: "/", workspaceFolder: "/" });
const [server] = servers;
if (server?.type !== "http") throw new Error(problems.map(({ text }) => text).join("\n"));

const consent = await openLoopbackConsent({
  port: 0,
  show: (page) => void fetch(page),
  signal: AbortSignal.timeout(20_000),
});
const connection = new ServerConnection({
  server,
  environment: process.env,
  watchdog: createWatchdog(),
  limits: HUB_LIMITS,
  authorization: createAuthorization(server, { logins: createMemoryLogins(), consent }),
  onTools: () => {},
  onTrouble: (error) => console.error(error.message),
});

/** What the scenario wants to see in a call, else anything that fits. */
function argumentsFor({ name, schema }: (typeof connection.tools)[number]): JsonObject {
  const wanted = given.toolCalls?.find((call) => call.name === name);
  if (wanted) return wanted.arguments;
  const focal = connection.tools.find((tool) => tool.name === "json_schema_2020_12_tool");
  if (name === "json_schema_echo" && focal) return { schema: focal.schema };
  const properties = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, { type?: string }>>);
  const value = (type?: string) => (type === "number" || type === "integer" ? 5 : "text");
  return Object.fromEntries(properties.map(([key, { type }]) => [key, value(type)]));
}

try {
  await connection.connect();
  for (const problem of connection.problems) console.error(problem);
  for (const tool of connection.tools) {
    const signal = AbortSignal.timeout(30_000);
    const elicit = async () => ({ action: "accept", content: {} }) as const;
    // What goes wrong is for the model to read, and no reason to stop.
    const result = await connection.call(tool.name, argumentsFor(tool), { signal, elicit }).catch((error) => error);
    console.error(tool.name, String(result instanceof Error ? result.message : JSON.stringify(result)).slice(0, 200));
  }
} finally {
  consent.close();
  await connection.close();
}
