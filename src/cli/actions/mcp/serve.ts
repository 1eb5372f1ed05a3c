import type { CallToolResult } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { composeHub } from "../../../app/hub/compose-hub.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { secretsOf } from "../../../app/secrets-of.ts";
import { checkKey, keyOf } from "../../../config/key-file.ts";
import type { Limits } from "../../../config/limits.ts";
import type { HubCallLog } from "../../../core/engine/call-log.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { unlessGone } from "../../../core/ignored-failures.ts";
import { type Limit, parseLimit } from "../../../core/limits/limit.ts";
import { jsonText } from "../../../core/printable.ts";
import type { Secret } from "../../../core/secret.ts";
import { PausedCalls } from "../../../mcp/connection/paused-calls.ts";
import type { Hub } from "../../../mcp/hub.ts";
import { HUB_LIMITS } from "../../../mcp/limits.ts";
import { createHubServer } from "../../../mcp/serve/hub-server.ts";
import { createLog, type Log } from "../../../observe/log.ts";
import { logHubCall } from "../../../observe/log-call.ts";
import { createRedactor, type SecretOrigin } from "../../../observe/redactor.ts";
import { keysPath } from "../../../server/gate/keys/gateway-keys.ts";
import { KnownKeys } from "../../../server/gate/keys/known-keys.ts";
import { redirectConsole } from "../../redirect-console.ts";
import { nextSignal } from "../../shutdown.ts";
import { serveHubOverHttp } from "./serve-over-http.ts";

interface McpServeFlags {
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  readonly json: boolean;
}

const OWNER = { id: "owner", token: undefined };

/** Longer than for a turn: nothing waits here, and many clients list the tools only once. */
const LIST_MS = 10_000;

const isOfRequests = (limit: Limit | undefined): boolean => limit?.unit === "requests";

/** Serves the hub as one MCP server: on stdio, or over HTTP if a port is given. Runs until it is stopped. */
export async function runMcpServe({ json, ...flags }: McpServeFlags): Promise<never> {
  const signal = nextSignal();
  const loaded = loadConfig({ flags, environment: process.env });
  const { values: config, home } = loaded;
  const key = flags.port === undefined ? undefined : config.key ? checkKey(config.key) : keyOf(home);
  const redactor = createRedactor(secretsOf(loaded));
  const onSecret = (secret: Secret, origin?: SecretOrigin) => redactor.add(secret.reveal(), origin);
  if (key) onSecret(key);
  // stdout belongs to the protocol.
  const write = (text: string) => process.stderr.write(text);
  const log = createLog({ level: config.logLevel, redactor, write, isPretty: process.stderr.isTTY });
  redirectConsole(log);
  const keys = new KnownKeys(keysPath(home), (text) => log.warn({}, text));
  const keyName = (principalId: string) => keys.withId(principalId)?.name;
  const { keychain } = config;
  const composed = await composeHub({ home, log, onSecret, keyName, startMs: 0, patienceMs: LIST_MS, keychain });
  const hub = composed.current;
  if (!hub) throw new ExcursorError("config", "No MCP server is configured.", { hint: "See: excursor mcp add --help" });

  if (key) {
    const limitsOf = (id: string) => (id === OWNER.id ? config.usage.ownLimits : (keys.withId(id)?.limits.usage ?? []));
    const requestsPerMinuteOf = (id: string) => limitsOf(id).map(parseLimit).find(isOfRequests)?.amount;
    const callLog: HubCallLog = (entry) => logHubCall(log, entry);
    const served = await serveHubOverHttp(hub, { ...config, key, keys, requestsPerMinuteOf, callLog });
    process.stdout.write(json ? `${jsonText({ ready: true, url: served.url })}\n` : `ready ${served.url}\n`);
    await signal;
    await served.close();
  } else await Promise.race([signal, serveOnStdio(hub, { limits: config.limits, log })]);
  await composed.close();
  process.exit(0);
}

/** Resolves when the client has closed stdin, or sends something unreadable. */
async function serveOnStdio(hub: Hub, { limits, log }: { readonly limits: Limits; readonly log: Log }): Promise<void> {
  const transport = new EndingTransport(limits.bodyBytes);
  const paused = new PausedCalls<CallToolResult>(HUB_LIMITS.elicitationMs);
  const handle = serveStdio(
    () => {
      const server = createHubServer(hub, OWNER, { paused, callLog: (entry) => logHubCall(log, entry) });
      hub.onChange(() => void unlessGone(server.sendToolListChanged()));
      return server;
    },
    { transport, onerror: ({ message }) => log.warn({}, `The client: ${message.slice(0, 200)}`) },
  );
  await transport.ended;
  await handle.close();
}

/** A transport that reports its end: it closes by itself after a message that is too large. */
class EndingTransport extends StdioServerTransport {
  readonly #end = Promise.withResolvers<void>();

  constructor(maxBufferSize: number) {
    super(process.stdin, process.stdout, { maxBufferSize });
  }

  get ended(): Promise<void> {
    return this.#end.promise;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#end.resolve();
  }
}
