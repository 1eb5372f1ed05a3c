import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Address } from "../clients/load.ts";
import type { UpstreamReport } from "../peers/upstream.ts";
import { residentBytes } from "./usage.ts";

/** A program under test, in a process of its own. */
export interface Subject extends Address {
  readonly pid: number;
  /** Runs the garbage collector, so that its memory is what it holds. */
  collectGarbage(): Promise<void>;
  stop(): Promise<void>;
}

export interface Upstream {
  readonly url: string;
  readonly pid: number;
  report(): Promise<UpstreamReport>;
  stop(): void;
}

const KEY = "bench-8Qm2vX7rT4kZ9wLc5nB1";
/** In the form of an account's token. */
const TOKEN = ["{}", '{"sub":"bench"}', "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
const fileOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

const PROGRAM = fileOf("../../bin/excursor.js");

/** The load and the backend run on one core, the program under test on another. */
const [LOAD_CORE, SUBJECT_CORE] = ["0", "1"];

/** Pins this process and its children to the load's core. False if that is not possible. */
export const isPinned: boolean = pinLoad();

function pinLoad(): boolean {
  if (cpus().length < 2) return false;
  try {
    execFileSync("taskset", ["-apc", LOAD_CORE, String(process.pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export async function heldBytes({ pid, collectGarbage }: Subject): Promise<number> {
  // The second pass frees objects with finalizers that the first has found.
  await collectGarbage();
  await collectGarbage();
  return residentBytes(pid);
}

export async function startUpstream(): Promise<Upstream> {
  const child = fork(fileOf("../peers/upstream.ts"));
  const [{ port }] = (await once(child, "message")) as [AddressInfo];
  return {
    url: `http://127.0.0.1:${port}`,
    pid: pidOf(child),
    report: async () => {
      child.send("report");
      return ((await once(child, "message")) as [UpstreamReport])[0];
    },
    stop: () => child.kill(),
  };
}

export function startFloor(upstream: Upstream): Promise<Subject> {
  return start([fileOf("../peers/floor.ts"), upstream.url], {});
}

/** Starts the floor of the Cursor face. */
export function startRelay(upstream: Upstream): Promise<Subject> {
  return start([fileOf("../peers/relay.ts"), upstream.url], {});
}

/** One process with two listeners: that for Cursor's clients, and the gateway. */
export interface Face {
  readonly cursor: Subject;
  readonly gateway: Subject;
  stop(): Promise<void>;
}

export async function startFace(upstream: Upstream, environment: Environment, program = PROGRAM): Promise<Face> {
  const flags = ["--cursor-face", "--cursor-port", "0", "--upstream", upstream.url, "--token", TOKEN];
  const gateway = await serve(flags, environment, program);
  return {
    // The backend takes any token; a key of the gateway is only for its own models.
    cursor: { ...gateway, port: gateway.cursorPort, key: TOKEN },
    gateway,
    stop: gateway.stop,
  };
}

/** `program`: that of another checkout. */
export function startGateway(
  upstream: { readonly url: string },
  environment: Environment = {},
  program = PROGRAM,
): Promise<Subject> {
  return serve(["--upstream", upstream.url, "--token", TOKEN], environment, program);
}

/** Starts the simulated backend as a process, with the start-up delay of the real one. */
export async function startSimulator(bootstrapMs: number): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const args = ["sim", "--port", "0", "--json", "--bootstrap-ms", String(bootstrapMs)];
  const { port, stop } = await start([PROGRAM, ...args], {}, LOAD_CORE);
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** Starts the gateway with its embedded simulator. `isFirst`: without a compile cache, as after an install. */
export function startDemo(isFirst: boolean): Promise<Subject> {
  return serve(["--demo"], isFirst ? { NODE_DISABLE_COMPILE_CACHE: "1" } : {});
}

/** Starts the gateway as users do, but with higher limits for one key. */
function serve(args: readonly string[], environment: Environment, program = PROGRAM): Promise<Started> {
  return start([program, "serve", "--port", "0", "--key", KEY, "--json", ...args], {
    EXCURSOR_LIMITS_CONNECTIONS: "4096",
    EXCURSOR_LIMITS_REQUESTS_PER_KEY: "4096",
    EXCURSOR_LIMITS_STREAMS_PER_KEY: "4096",
    EXCURSOR_LIMITS_PARKED_RUNS: "4096",
    EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY: "4096",
    ...environment,
  });
}

/** The exit code after Ctrl-C, which the processes under test receive, too. */
export const INTERRUPTED = 130;

type Environment = Readonly<Record<string, string>>;

/** How long a process may take to end after SIGTERM. */
const END_MS = 1000;

interface Started extends Subject {
  /** NaN without that listener. */
  readonly cursorPort: number;
}

async function start(args: readonly string[], environment: Environment, core = SUBJECT_CORE): Promise<Started> {
  const home = mkdtempSync(join(tmpdir(), "excursor-bench-"));
  const log = join(home, "log");
  const command = [
    ...(isPinned ? ["taskset", "-c", core] : []),
    process.execPath,
    "--import",
    fileOf("./open-inspector.ts"),
    ...args,
  ];
  const child = spawn(command[0] ?? "", command.slice(1), {
    stdio: ["ignore", "pipe", openSync(log, "w")],
    env: { ...process.env, EXCURSOR_HOME: home, ...environment },
  });
  const exited = once(child, "exit").then(() => undefined);
  const ready = await Promise.race([firstLine(child), exited]);
  if (ready === undefined) throw new Error(`${args.join(" ")} did not start: ${readFileSync(log, "utf8")}`);
  const { url, cursorUrl } = JSON.parse(ready) as { readonly url: string; readonly cursorUrl?: string };
  let isStopping = false;
  child.on("exit", (code, signal) => {
    if (!isStopping && process.exitCode !== INTERRUPTED)
      console.error(`${args.join(" ")} ended by itself (${code ?? signal}):\n${tailOf(log)}`);
  });
  return {
    pid: pidOf(child),
    port: Number(new URL(url).port),
    cursorPort: cursorUrl === undefined ? Number.NaN : Number(new URL(cursorUrl).port),
    key: KEY,
    collectGarbage: async () => {
      child.kill("SIGUSR1");
      await collectGarbage(await findInspector(log));
    },
    stop: async () => {
      isStopping = true;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await exited;
      clearTimeout(timer);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const tailOf = (log: string): string => readFileSync(log, "utf8").split("\n").slice(-10).join("\n");

/** Returns the inspector's address, which a process logs after SIGUSR1 (open-inspector.ts). */
async function findInspector(log: string): Promise<string> {
  for (;;) {
    const url = /ws:\S+/.exec(readFileSync(log, "utf8"))?.[0];
    if (url !== undefined) return url;
    await sleep(10);
  }
}

async function collectGarbage(inspectorUrl: string): Promise<void> {
  const inspector = new WebSocket(inspectorUrl);
  await once(inspector, "open");
  inspector.send(JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" }));
  await once(inspector, "message");
  inspector.close();
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  if (!stdout) return undefined;
  const lines = createInterface(stdout);
  const [line] = (await once(lines, "line")) as [string];
  stdout.resume();
  return line;
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error("the process did not start");
  return pid;
}
