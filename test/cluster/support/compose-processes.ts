import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { freePort, hasRedis, type RedisProcess, startRedis } from "./redis-process.ts";

export const hasBalancer: boolean = hasRedis && spawnSync("haproxy", ["-v"]).status === 0;

/** The parts of `deploy/compose.yaml` that matter without containers. */
interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
}

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

export const readCompose = (): ComposeFile =>
  parse(readFileSync("deploy/compose.yaml", "utf8"), { merge: true }) as ComposeFile;

export interface NodeProcess {
  readonly name: string;
  readonly url: string;
  readonly log: () => string;
  readonly pid: () => number;
  /** Resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Starts it again, with the same settings, as often as it takes: Redis may be away, too. */
  restart(): Promise<void>;
}

export interface ComposedCluster {
  /** Of the balancer. */
  readonly url: string;
  readonly nodes: readonly NodeProcess[];
  readonly redis: RedisProcess;
  /** Resolves when the balancer sends requests to this gateway. */
  untilServed(node: NodeProcess): Promise<void>;
  /** Starts one more gateway, which the balancer does not know. */
  startOther(): Promise<NodeProcess>;
}

/** `kept together`: as the file says. `in turn`: each request to the next gateway. */
export type Balancing = "kept together" | "in turn";

export type Balancer = "haproxy" | "nginx" | "caddy";

interface BalancerProgram {
  /** In `deploy`. */
  readonly file: string;
  readonly arguments: (config: string, folder: string) => readonly string[];
}

const BALANCERS: Readonly<Record<Balancer, BalancerProgram>> = {
  haproxy: { file: "haproxy.cfg", arguments: (config) => ["-db", "-f", config] },
  nginx: { file: "nginx.conf", arguments: (config, folder) => ["-c", config, "-p", folder, "-e", "stderr"] },
  caddy: { file: "Caddyfile", arguments: (config) => ["run", "--config", config, "--adapter", "caddyfile"] },
};

export const hasProgram = (balancer: Balancer): boolean =>
  spawnSync(balancer, [balancer === "caddy" ? "version" : "-v"]).status === 0;

interface Place {
  readonly balancer: Balancer;
  readonly balancing: Balancing;
  readonly port: number;
  readonly folder: string;
  readonly stats: string;
}

/** Has a balancer listen on loopback and write where a user may. */
function adapt(text: string, { balancer, balancing, port, folder, stats }: Place): string {
  if (balancer === "caddy") return text.replace(":8787 {\n\t#", `http://127.0.0.1:${port} {\n\t#`);
  if (balancer === "nginx") {
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const temporary = folders.map((name) => `${name}_temp_path ${folder};`).join(" ");
    return `daemon off; pid ${folder}/nginx.pid;\n${text}`
      .replace("listen 8787", `listen 127.0.0.1:${port}`)
      .replace("http {", `http { access_log off; ${temporary}`);
  }
  return text
    .replace(/balance hash .*/, (line) => (balancing === "in turn" ? "balance roundrobin" : line))
    .replace("bind :8787", `bind 127.0.0.1:${port}`)
    .replace("global\n", `global\n    stats socket ${stats}\n`);
}

interface ComposedOptions {
  readonly balancer?: Balancer;
  readonly balancing?: Balancing;
  readonly prepareHome?: (home: string) => void;
}

/** Starts the services of the compose file as processes: the same settings, with names replaced by addresses of loopback. */
export async function startComposed(
  defer: (cleanup: () => unknown) => void,
  given: Readonly<Record<string, string>>,
  { balancing = "in turn", balancer = "haproxy", prepareHome = () => {} }: ComposedOptions = {},
): Promise<ComposedCluster> {
  const { services } = readCompose();
  const folder = mkdtempSync(join(tmpdir(), "excursor-compose-"));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const redis = await startRedis(defer, services["redis"]?.command?.slice(1));
  const names = Object.keys(services).filter((name) => name.startsWith("gateway-"));
  const addresses = new Map([["redis:6379", `127.0.0.1:${redis.port}`]]);
  for (const name of names) {
    addresses.set(`${name}:8787`, `127.0.0.1:${await freePort()}`);
  }
  const localize = (text: string) => {
    let local = text.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => given[name] ?? "");
    for (const [from, to] of addresses) local = local.replaceAll(from, to);
    return local;
  };
  const nodes = await Promise.all(
    names.map((name) => {
      const port = addresses.get(`${name}:8787`)?.split(":")[1] ?? "0";
      const home = join(folder, name);
      mkdirSync(home, { mode: 0o700 });
      prepareHome(home);
      const settings = Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [key, localize(value)]);
      const environment = {
        ...Object.fromEntries(settings),
        ...given,
        EXCURSOR_HOST: "127.0.0.1",
        EXCURSOR_PORT: port,
        EXCURSOR_HOME: home,
      };
      return startNode(name, `http://127.0.0.1:${port}`, environment, defer);
    }),
  );
  const port = await freePort();
  const stats = join(folder, "haproxy.sock");
  const { file, arguments: argumentsOf } = BALANCERS[balancer];
  const config = join(folder, file);
  const adapted = adapt(readFileSync(join("deploy", file), "utf8"), { balancer, balancing, port, folder, stats });
  writeFileSync(config, localize(adapted));
  startBalancer(balancer, argumentsOf(config, folder), defer);
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url);
  let others = 0;
  const startOther = async () => {
    const name = `other-${others++}`;
    const ownPort = await freePort();
    return startNode(
      name,
      `http://127.0.0.1:${ownPort}`,
      {
        ...given,
        EXCURSOR_PORT: String(ownPort),
        EXCURSOR_HOME: join(folder, name),
        EXCURSOR_CLUSTER_REDIS: redis.url,
        EXCURSOR_CLUSTER_NODE: name,
      },
      defer,
    );
  };
  const untilServed = async ({ name }: NodeProcess) => {
    while (!(await isServed(stats, name))) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  return { url, nodes, redis, untilServed, startOther };
}

/** Starts a balancer with these arguments. */
export function startBalancer(
  program: Balancer,
  given: readonly string[],
  defer: (cleanup: () => unknown) => void,
): void {
  const balancer = spawn(program, given, {
    stdio: ["ignore", "inherit", "pipe"],
    env: { PATH: process.env["PATH"], HOME: tmpdir() },
    detached: true,
  });
  balancer.stderr.resume();
  const gone = once(balancer, "exit");
  defer(async () => {
    // nginx has workers.
    if (balancer.pid !== undefined) process.kill(-balancer.pid, "SIGKILL");
    await gone;
  });
}

const MAX_STARTS = 10;

export async function startNode(
  name: string,
  url: string,
  environment: Readonly<Record<string, string>>,
  defer: (cleanup: () => unknown) => void,
): Promise<NodeProcess> {
  let log = "";
  const run = async () => {
    const child = spawn(process.execPath, ["bin/excursor.js", "serve", "--json"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], ...environment },
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-1_000_000);
    });
    const exited = once(child, "close").then(([code]) => code as number | null);
    const ready = await Promise.race([once(child.stdout, "data"), exited.then(() => undefined)]);
    if (!ready) throw new Error(`${name} did not start: ${log}`);
    return { child, exited };
  };
  let current = await run();
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    current.child.kill(signal);
    return current.exited;
  };
  defer(() => stop("SIGKILL"));
  return {
    name,
    url,
    log: () => log,
    pid: () => current.child.pid ?? 0,
    stop,
    async restart() {
      for (let attempt = 1; ; attempt++) {
        try {
          current = await run();
          return;
        } catch (error) {
          if (attempt === MAX_STARTS) throw error;
        }
      }
    },
  };
}

/** Asks HAProxy whether a server is up. */
async function isServed(stats: string, name: string): Promise<boolean> {
  const socket = connect(stats);
  socket.end("show servers state gateways\n");
  let state = "";
  for await (const chunk of socket) state += chunk;
  // Id and name of backend and server, address, and the state: 2 is running.
  return new RegExp(`^\\S+ \\S+ \\S+ ${name} \\S+ 2 `, "m").test(state);
}

/** Waits until the balancer has found a gateway. */
async function untilReady(url: string): Promise<void> {
  for (;;) {
    const status = await fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
