import { once } from "node:events";
import { createWriteStream, readFileSync, type WriteStream } from "node:fs";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { loadCassette } from "../../../replay/cassette.ts";
import type { SimOptions, TraceEntry } from "../../../sim/options.ts";
import { parseScripts } from "../../../sim/script/parse.ts";
import { startSim } from "../../../sim/server.ts";
import { openMaskedCapture } from "../../open-masked-capture.ts";
import { nextSignal } from "../../shutdown.ts";

export interface SimFlags {
  readonly port: number;
  readonly hostConfig: "h1" | "h2";
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly legacy: "on" | "deprecated";
  readonly lenient: boolean;
  readonly bootstrapMs: number;
  readonly idleMs: number;
  readonly tokenTtl: number;
  readonly refreshTokens: "reusable" | "rotating";
  readonly pollInterval: number;
  readonly maxResets?: number | undefined;
  readonly minClientVersion?: string | undefined;
  readonly script?: string | undefined;
  readonly cassette?: string | undefined;
  readonly trace?: string | undefined;
  readonly json: boolean;
}

/** Starts the simulator, prints its address, and runs until it is stopped. */
export async function runSim(flags: SimFlags, drainMs: number): Promise<never> {
  const signal = nextSignal();
  const trace = flags.trace === undefined ? undefined : await openTrace(flags.trace);
  const cassette = flags.cassette === undefined ? undefined : await loadCassette(openMaskedCapture(flags.cassette));
  const sim = await startSim({
    port: flags.port,
    hostConfig: flags.hostConfig,
    legacy: flags.legacy,
    isLenient: flags.lenient,
    bootstrapMs: flags.bootstrapMs,
    idleMs: flags.idleMs,
    tokenTtlS: flags.tokenTtl,
    refreshTokens: flags.refreshTokens,
    pollIntervalMs: flags.pollInterval,
    maxResets: flags.maxResets,
    minClientVersion: flags.minClientVersion,
    tls: readTls(flags),
    script: flags.script === undefined ? undefined : readScript(flags.script),
    cassette,
    onLeave: (text) => process.stderr.write(`${printable(text)}\n`),
    onUnknownCall: (path) =>
      process.stderr.write(`${printable(path)} is not known here: the answer is an empty message\n`),
    trace: trace && ((entry: TraceEntry) => trace.write(`${jsonText(entry)}\n`)),
  } satisfies Partial<SimOptions>);

  process.stdout.write(
    flags.json ? `${jsonText({ ready: true, url: sim.url, port: sim.port })}\n` : `ready ${sim.url}\n`,
  );
  if (cassette?.problem !== undefined) process.stderr.write(`${cassette.problem}\n`);
  if (!flags.json) process.stderr.write(cassette ? playing(sim.url, cassette.calls.length) : nextSteps(sim.url));

  await signal;
  await sim.close(drainMs);
  if (trace) await new Promise<void>((resolve) => trace.end(resolve));
  process.exit(0);
}

function readTls({ tlsCert, tlsKey }: SimFlags): SimOptions["tls"] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new ExcursorError("config", "--tls-cert and --tls-key must be given together. One of them is missing.");
  }
  return { cert: readFile("--tls-cert", tlsCert), key: readFile("--tls-key", tlsKey) };
}

/** Reads a script: one or more steps a line, with or without `@sim`. `#` begins a comment line. */
function readScript(path: string): string {
  const lines = readFile("--script", path).split(/\r?\n/);
  const steps = lines.map((line) => {
    const text = line.trim();
    return text === "" || text.startsWith("#") || text.startsWith("@sim ") ? text : `@sim ${text}`;
  });
  const script = steps.join("\n");
  for (const { steps: parsed } of parseScripts(script)) {
    for (const step of parsed) {
      if (step.type !== "invalid") continue;
      throw new ExcursorError("bad_script", `--script ${path}: "${step.source}": ${step.reason}.`);
    }
  }
  if (parseScripts(script).length === 0)
    throw new ExcursorError("config", `--script ${path}: the file contains no step.`);
  return script;
}

function readFile(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unusable(flag, path, error);
  }
}

async function openTrace(path: string): Promise<WriteStream> {
  const stream = createWriteStream(path, { flags: "a", mode: 0o600 });
  try {
    await once(stream, "open");
  } catch (error) {
    throw unusable("--trace", path, error);
  }
  // A full disk ends the trace, not the simulator.
  stream.on("error", (error) => process.stderr.write(`trace: ${error.message}\n`));
  return stream;
}

function unusable(flag: string, path: string, error: unknown): ExcursorError {
  const reason = (error as NodeJS.ErrnoException).code ?? "unreadable";
  return new ExcursorError("config", `${flag}: cannot open ${path} (${reason}).`, {
    hint: "Check the path and its permissions.",
    cause: error,
  });
}

const playing = (url: string, calls: number): string => `
The simulator plays ${calls} recorded calls. Point the client that was recorded at it:

  CURSOR_BACKEND_URL=${url}

It says here where the client does something else. Ctrl-C stops the simulator.
`;

const nextSteps = (url: string): string => `
This is the simulated Cursor backend. Any non-empty token is an account. To check that it runs:

  curl -s ${url}/v1/models -H 'authorization: Bearer demo'

Point a client of Cursor's backend at it, for example a program that uses the official SDK:

  CURSOR_BACKEND_URL=${url} CURSOR_API_KEY=demo node your-agent.mjs

Script its answers in the prompt, for example: @sim say hello
docs/simulator.md describes all steps. Ctrl-C stops the simulator.
`;
