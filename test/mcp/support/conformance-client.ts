import { createWatchdog } from "../../../src/process/watchdog.ts";
import { Connection } from "../../../src/tools/connection.ts";
import { HUB_LIMITS } from "../../../src/tools/limits.ts";
import { createAuthorization } from "../../../src/tools/oauth/authorization.ts";
import { createMemoryLogins } from "../../../src/tools/oauth/login-store.ts";
import { openLoopbackConsent } from "../../../src/tools/oauth/loopback-consent.ts";
import { readServers } from "../../../src/tools/server-config.ts";

/**
 * Our connection, as the conformance suite runs it: it is given an address, signs in where that is asked for, and uses
 * every tool that it finds there. The person with the browser says yes to everything.
 */
const given = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Readonly<Record<string, string>>;
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";

const oauth = {
  ...(scenario.startsWith("auth/client-credentials") && { grant: "client_credentials" }),
  ...(scenario === "auth/basic-cimd" && {
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  }),
  ...(given["client_id"] && { clientId: given["client_id"] }),
  ...(given["client_secret"] && { clientSecret: given["client_secret"] }),
  ...(given["private_key_pem"] && { privateKey: given["private_key_pem"], algorithm: given["signing_algorithm"] }),
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
const connection = new Connection({
  server,
  environment: process.env,
  watchdog: createWatchdog(),
  limits: HUB_LIMITS,
  authorization: createAuthorization(server, { logins: createMemoryLogins(), consent }),
  onTools: () => {},
  onTrouble: (error) => console.error(error.message),
});

const value = ({ type }: { readonly type?: string }) => (type === "number" || type === "integer" ? 5 : "text");

try {
  await connection.connect();
  for (const { name, schema } of connection.tools) {
    const properties = Object.entries(
      (schema["properties"] ?? {}) as Readonly<Record<string, { readonly type?: string }>>,
    );
    const args = Object.fromEntries(properties.map(([key, property]) => [key, value(property)]));
    const result = await connection.call(name, args, {
      signal: AbortSignal.timeout(30_000),
      elicit: async () => ({ action: "accept", content: {} }),
    });
    console.error(name, JSON.stringify(result).slice(0, 200));
  }
} finally {
  consent.close();
  await connection.close();
}
