import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway } from "../../../src/app/open-gateway.ts";
import { serveCommand } from "../../../src/cli/commands/serve.ts";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { type SimStats, startSim } from "../../../src/sim/server.ts";

export const KEY = "exc_a-key-for-tests-only-0123456789";

interface StartedGateway {
  readonly url: string;
  /** Of the bridge for the IDE, if it was asked for. */
  readonly bridgeUrl: string | undefined;
  /** Of the listener for Cursor's own clients, if it was asked for. */
  readonly cursorUrl: string | undefined;
  /** Of the listener for Ollama's clients without a key, if it was asked for. */
  readonly ollamaUrl: string | undefined;
  readonly client: OpenAI;
  readonly log: () => string;
  /** Stops it as an operator would; the next one finds what it kept. */
  stop(): Promise<unknown>;
}

interface GatewayProcess extends StartedGateway {
  readonly pid: number;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface Stage {
  readonly trace: TraceEntry[];
  readonly simUrl: string;
  readonly simStats: () => SimStats;
  /** Where the gateways keep what they keep. */
  readonly home: string;
  /** A gateway process in front of the backend; those of one stage share their state. */
  start(...flags: string[]): Promise<GatewayProcess>;
  /** The same gateway in this process: a start costs more than most tests, and few depend on a process, its signals or its memory. */
  open(...flags: string[]): Promise<StartedGateway>;
}

type Defer = (cleanup: () => unknown) => void;

/**
 * A simulated backend in this process, and gateways in front of it. All are gone after the test, unless somebody else sees
 * to it.
 */
export async function setUpGateway(
  sim: Partial<SimOptions> = {},
  environment: Environment = {},
  defer: Defer = (cleanup) => onTestFinished(async () => void (await cleanup())),
): Promise<Stage> {
  const trace: TraceEntry[] = [];
  const backend = await startSim({ trace: (entry) => trace.push(entry), ...sim });
  const home = mkdtempSync(join(tmpdir(), "excursor-gateway-"));
  defer(() => rmSync(home, { recursive: true, force: true }));
  defer(() => backend.close());
  return {
    trace,
    home,
    simUrl: backend.url,
    simStats: () => backend.stats(),
    start: (...flags) => startProcess(backend.url, { ...environment, EXCURSOR_HOME: home }, flags, defer),
    open: (...flags) => openHere(backend.url, { ...environment, EXCURSOR_HOME: home }, flags, defer),
  };
}

/** Settings of the gateways, as variables. */
type Environment = Readonly<Record<string, string>>;

const baseFlags = (upstream: string) => ["--port", "0", "--upstream", upstream, "--token", "tester", "--key", KEY];

const clientOf = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });

async function openHere(
  upstream: string,
  environment: Environment,
  flags: readonly string[],
  defer: Defer,
): Promise<StartedGateway> {
  const command = serveCommand();
  command.parseOptions([...baseFlags(upstream), ...flags]);
  const { demo, json, untilStdinEnds, ...settings } = command.opts();
  const loaded = loadConfig({ flags: settings, environment: { ...process.env, ...environment } });
  let log = "";
  const writeLog = (text: string) => {
    log += text;
  };
  const { url, bridgeUrl, cursorUrl, ollamaUrl, close, prewarm } = await openGateway(loaded, {
    isDemo: demo,
    writeLog,
  });
  prewarm();
  const stop = () => close();
  defer(stop);
  return { url, bridgeUrl, cursorUrl, ollamaUrl, client: clientOf(url), log: () => log, stop };
}

async function startProcess(
  upstream: string,
  environment: Environment,
  flags: readonly string[],
  defer: Defer,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ["bin/excursor.js", "serve", ...baseFlags(upstream), "--json", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    log += chunk;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    return exited;
  };
  defer(stop);
  const [line] = await Promise.race([once(child.stdout.setEncoding("utf8"), "data"), exited.then(() => [undefined])]);
  if (line === undefined) throw new Error(`the gateway did not start: ${log}`);
  const { url, bridgeUrl, cursorUrl, ollamaUrl } = JSON.parse(line) as { url: string } & Record<
    "bridgeUrl" | "cursorUrl" | "ollamaUrl",
    string | undefined
  >;
  return {
    url,
    bridgeUrl,
    cursorUrl,
    ollamaUrl,
    client: clientOf(url),
    log: () => log,
    pid: child.pid ?? 0,
    stop,
  };
}
