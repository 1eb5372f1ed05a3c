import { Readable, Writable } from "node:stream";
import { MessageTooLargeError, ndJsonStream } from "@agentclientprotocol/sdk";
import { FACES } from "../../app/faces.ts";
import { createEditorServers } from "../../app/hub/open-editor-servers.ts";
import { loadConfig } from "../../app/load-config.ts";
import { openEngine } from "../../app/open-gateway.ts";
import { recordTurns } from "../../app/usage/record-turns.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import { redirectConsole } from "../redirect-console.ts";
import { nextSignal } from "../shutdown.ts";
import { version } from "../version.ts";

export interface AcpFlags {
  readonly model: string;
  readonly demo: boolean;
  readonly account?: string | undefined;
}

const MESSAGE_BYTES = 32 * 1024 * 1024;

const FOR_EDITORS = `An editor should start this command: it waits for JSON-RPC on stdin. For Zed, add this to settings.json:

  "agent_servers": { "Excursor": { "command": "excursor", "args": ["acp"] } }

To chat in a terminal: excursor chat. Ctrl-C ends this.

`;

/** Speaks ACP on stdin and stdout until they close. */
export async function runAcp({ model, demo, account }: AcpFlags): Promise<void> {
  const signal = nextSignal();
  if (process.stdin.isTTY) process.stderr.write(FOR_EDITORS);
  const loaded = loadConfig({ flags: { account }, environment: process.env });
  const { parts, log, redactor, close } = await openEngine(loaded, {
    isDemo: demo,
    writeLog: (text) => process.stderr.write(text),
  });
  redirectConsole(log);
  for (const warning of loaded.warnings) log.warn({}, warning);
  const servers = createEditorServers(log, (secret) => redactor.add(secret.reveal()));
  const { sessions: memory } = parts;
  const engine = recordTurns(parts.engine, parts.usage, "acp-agent");
  const openServers = servers.open;
  const agent = await FACES.acpAgent.open({ engine, principal: OWNER, model, version: version(), openServers, memory });
  const stream = ndJsonStream(
    Writable.toWeb(process.stdout),
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    { maxMessageBytes: MESSAGE_BYTES },
  );
  const connection = agent.connect(stream);
  await Promise.race([connection.closed, signal]);
  const { reason } = connection.signal;
  const isTooLarge = reason instanceof MessageTooLargeError;
  if (isTooLarge) log.error({}, `The connection to the editor was closed: ${reason.message}.`);
  connection.close();
  await servers.close();
  await close();
  process.exit(isTooLarge ? 1 : 0);
}
