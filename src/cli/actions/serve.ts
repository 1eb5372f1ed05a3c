import { once } from "node:events";
import { setDefaultHighWaterMark } from "node:stream";
import { loadConfig } from "../../app/load-config.ts";
import { openGateway, type RunningGateway } from "../../app/open-gateway.ts";
import { warnOfOldVariables } from "../../config/old-variables.ts";
import { jsonText } from "../../core/printable.ts";
import type { Log } from "../../observe/log.ts";
import { urlOf } from "../gateway-address.ts";
import { findRemovedPatches } from "../ide/find-removed-patches.ts";
import { noteConnected } from "../note-connected.ts";
import { ownCommand } from "../own-command.ts";
import { redirectConsole } from "../redirect-console.ts";
import { nextSignal } from "../shutdown.ts";
import { version } from "../version.ts";

export interface ServeFlags {
  readonly demo: boolean;
  readonly json: boolean;
  /** Stops when stdin closes, so that the gateway does not outlive the process that started it. */
  readonly untilStdinEnds: boolean;
  /** Settings, by their own names. */
  readonly [setting: string]: string | number | boolean | undefined;
}

/** How long answers may continue after an uncaught error. */
const CRASH_DRAIN_MS = 5000;

const IGNORED_SIGNALS =
  "signal ignored: keys and MCP servers are reloaded automatically, other settings need a restart";

/**
 * The read buffer of streams, for the whole process. Node fills a paused HTTP/2 stream with small pieces that take ten
 * times their content in memory, and has no setting for these streams alone. See
 * docs/decisions/2026-11-16-stream-buffers.md.
 */
export const STREAM_BUFFER_BYTES = 4 * 1024;

/** Starts the gateway, prints its address, and runs until it is stopped. */
export async function runServe({ demo, json, untilStdinEnds, ...settings }: ServeFlags): Promise<never> {
  setDefaultHighWaterMark(false, STREAM_BUFFER_BYTES);
  let running: RunningGateway | undefined;
  const signal = nextSignal((name) => running?.log.info({ signal: name }, IGNORED_SIGNALS));
  const loaded = loadConfig({ flags: settings, environment: process.env });
  const gateway = await openGateway(loaded, {
    isDemo: demo,
    writeLog: (text) => process.stderr.write(text),
    hasDoor: true,
    dashboard: {
      version: version(),
      async examine() {
        const { examine } = await import("../doctor/examine.ts");
        return examine({ settings, demo, quick: true });
      },
    },
  });
  running = gateway;
  const { url, port, log, bridgeUrl, cursorUrl, ollamaUrl, node } = gateway;
  const captureFile = gateway.capture?.file;
  exitOnBug(gateway, log);
  redirectConsole(log);
  const oldVariables = warnOfOldVariables(loaded, process.env);
  for (const warning of [...loaded.warnings, ...(oldVariables ? [oldVariables] : [])]) log.warn({}, warning);
  for (const removed of await findRemovedPatches(loaded.home)) log.warn({}, `${removed} Run: excursor ide patch`);
  if (process.env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    log.warn(
      {},
      "NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off. Anyone on the network path to the backend can read the account's token.",
    );
  }

  const facts = {
    ready: true,
    url,
    port,
    baseUrl: `${url}/v1`,
    uiUrl: `${url}/ui`,
    demo,
    signedIn: gateway.isSignedIn,
  };
  process.stdout.write(
    json
      ? `${jsonText({ ...facts, bridgeUrl, cursorUrl, ollamaUrl, node, captureFile })}\n`
      : [
          `ready ${url}`,
          bridgeUrl && `bridge ${bridgeUrl}`,
          cursorUrl && `cursor ${cursorUrl}`,
          ollamaUrl && `ollama ${ollamaUrl}`,
          captureFile && `capture ${captureFile}`,
        ]
          .flatMap((line) => (line ? [`${line}\n`] : []))
          .join(""),
  );
  if (captureFile !== undefined)
    log.warn({ file: captureFile }, "A capture is running: prompts and answers are recorded.");
  gateway.prewarm();
  if (!gateway.isSignedIn)
    log.warn({}, "No Cursor account is signed in. Cursor's models only answer requests that send a Cursor token.");
  if (!json) {
    const here = urlOf(loaded.values.host, port);
    const steps = nextSteps({ url: here, isDemo: demo, keyOrigin: loaded.origins.get("key"), bridgeUrl, node });
    process.stderr.write(steps + (gateway.isSignedIn ? "" : signInFirst));
  }

  await (untilStdinEnds ? Promise.race([signal, once(process.stdin.resume(), "end")]) : signal);
  log.info({}, "stopping");
  if (demo) noteConnected(urlOf(loaded.values.host, port));
  await gateway.close();
  process.exit(0);
}

/** Exits after an uncaught error, because the state is unknown. Answers under way get a short time to finish. */
function exitOnBug(gateway: RunningGateway, log: Log): void {
  let isOver = false;
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => {
    log.error({ cause: error.stack ?? error.message }, "uncaught");
    if (isOver) return;
    isOver = true;
    void gateway.close(CRASH_DRAIN_MS).finally(() => {
      process.exit(70);
    });
  });
}

const COMMAND = ownCommand(process.env);

const signInFirst = `No Cursor account is signed in yet. Sign in from another terminal; the gateway needs no restart:

  ${COMMAND} login

`;

/** How another terminal gets the key: by command, unless it was given to this process only. */
const keyHint = (origin: string | undefined) =>
  origin === "--key" || origin === "EXCURSOR_KEY"
    ? {
        hint: `the key from ${origin}`,
        value: "$EXCURSOR_KEY",
        setUp: `  export EXCURSOR_KEY=…   # ${origin === "--key" ? "the value of --key" : "the same value as here"}\n`,
      }
    : { hint: `${COMMAND} key`, value: `$(${COMMAND} key)`, setUp: "" };

const bridgeSteps = (bridgeUrl: string): string => `  bridge     ${bridgeUrl}
  its key    ${COMMAND} key --bridge
`;

const clusterSteps = (node: string): string =>
  `  cluster    this gateway is ${node}   (list all with: ${COMMAND} nodes --redis URL)
`;

interface ReadyFacts {
  readonly url: string;
  readonly isDemo: boolean;
  readonly keyOrigin: string | undefined;
  readonly bridgeUrl: string | undefined;
  readonly node: string | undefined;
}

function nextSteps({ url, isDemo, keyOrigin, bridgeUrl, node }: ReadyFacts): string {
  const { hint, value, setUp } = keyHint(keyOrigin);
  return `
The gateway is ready${isDemo ? ". The simulator answers; script it in the prompt: @sim say hello" : "."}

  base URL   ${url}/v1
  API key    ${hint}
  dashboard  ${url}/ui   (sign in with: ${COMMAND} ui)
${bridgeUrl === undefined ? "" : bridgeSteps(bridgeUrl)}${node === undefined ? "" : clusterSteps(node)}
Try it:

${setUp}  curl ${url}/v1/chat/completions -H "authorization: Bearer ${value}" \\
    -H 'content-type: application/json' -d '{"model":"auto","messages":[{"role":"user","content":"hello"}]}'

Ctrl-C stops it.

`;
}
