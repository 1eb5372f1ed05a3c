import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Connection, StreamedAnswer } from "../clients/load.ts";
import { ToolLoop } from "../clients/tool-loop.ts";
import { type BenchResult, percentile } from "../harness/measure.ts";
import { type Subject, startGateway, startHttpRelay } from "../harness/processes.ts";
import { inTurn, measureRounds, type Round, ratioOf, type Testbed } from "../harness/testbed.ts";
import { cpuMs } from "../harness/usage.ts";
import { measureSimulatedFollowUps } from "./simulated-follow-ups.ts";

const LOOPS = 10;
const FOLLOW_UPS = 10;
const TOKENS = 50;
const SHORT = 300;
/** Until the code that runs once for each request is compiled. */
const WARM_UP_ROUNDS = 5;

interface Sample {
  readonly firstTokenUs: number;
  /** For one request, of all gateways. */
  readonly cpuMs: number;
}

/**
 * Measures follow-ups that reach the home node of their run against those that reach another gateway and are forwarded, and
 * against those that reach it through the smallest relay, which is what any such hop costs on this machine. Measures short
 * requests to a gateway alone against those to a cluster of three. Needs `redis-server`.
 */
export async function measureCluster(bed: Testbed): Promise<BenchResult[]> {
  const redis = await startRedis();
  if (!redis) return [];
  const settings = { EXCURSOR_CLUSTER_REDIS: redis.url };
  const open = (name: string) => startGateway(bed.upstream, { ...settings, EXCURSOR_CLUSTER_NODE: name });
  const [home, other] = [await open("home"), await open("other")];
  const nodes = [home, other, await open("third")];
  const relay = await startHttpRelay(home);
  try {
    const follow = (isForwarded: boolean) => followUps(home, isForwarded ? other : home, [home, other]);
    for (let n = 0; n < WARM_UP_ROUNDS; n++) await both(n, follow);
    const rounds: readonly Round<Sample>[] = await measureRounds((round) => both(round, follow));
    const pass = (isRelayed: boolean) => followUps(home, isRelayed ? relay : home, [home, relay]);
    for (let n = 0; n < WARM_UP_ROUNDS; n++) await both(n, pass);
    const passed: readonly Round<Sample>[] = await measureRounds((round) => both(round, pass));
    const ask = (isCluster: boolean) => shortRequests(isCluster ? nodes : [bed.gateway]);
    for (let n = 0; n < WARM_UP_ROUNDS; n++) await both(n, ask);
    const short: readonly Round<Sample>[] = await measureRounds((round) => both(round, ask));
    return [
      {
        name: "forwarded follow-up: time to first token, p50, to that at home",
        bound: 1.5,
        ...ratioOf(rounds, ({ firstTokenUs }) => firstTokenUs, "µs"),
      },
      {
        name: `forwarded follow-up of ${TOKENS} tokens: CPU of both gateways`,
        bound: 1.6,
        ...ratioOf(rounds, ({ cpuMs: ms }) => ms, "ms"),
      },
      {
        name: "the same through the smallest relay: time to first token, p50",
        ...ratioOf(passed, ({ firstTokenUs }) => firstTokenUs, "µs"),
      },
      { name: "the same through the smallest relay: CPU of both", ...ratioOf(passed, ({ cpuMs: ms }) => ms, "ms") },
      ...(await measureSimulatedFollowUps(settings)),
      { name: "short request to three gateways: CPU to that of one", ...ratioOf(short, ({ cpuMs: ms }) => ms, "ms") },
    ];
  } finally {
    await Promise.all([relay, ...nodes].map((node) => node.stop()));
    redis.stop();
  }
}

const both = <T>(round: number, measure: (isSecond: boolean) => Promise<T>) =>
  inTurn(round, { floor: false, gateway: true }, measure);

/** Opens a run on its home node, and goes on with it over another gateway. */
async function followUps(home: Subject, asked: Subject, both: readonly Subject[]): Promise<Sample> {
  const [opening, following] = [new Connection(home), new Connection(asked)];
  const loops: ToolLoop[] = [];
  for (let id = 0; id < LOOPS; id++) loops.push(await ToolLoop.open(opening, id));
  const waits: number[] = [];
  const before = sumCpu(both);
  for (let n = 0; n < FOLLOW_UPS; n++) {
    for (const loop of loops) {
      waits.push(await loop.goOn({ id: n, tokens: TOKENS, isCall: n < FOLLOW_UPS - 1 }, following));
    }
  }
  const used = sumCpu(both) - before;
  opening.destroy();
  following.destroy();
  return { firstTokenUs: percentile(waits, 0.5), cpuMs: used / waits.length };
}

/** Sends short requests to the gateways in turn. */
async function shortRequests(subjects: readonly Subject[]): Promise<Sample> {
  const connections = subjects.map((subject) => new Connection(subject));
  const before = sumCpu(subjects);
  for (let n = 0; n < SHORT; n++) await connections[n % subjects.length]?.ask({ tokens: 1 }, new StreamedAnswer());
  const used = sumCpu(subjects) - before;
  for (const connection of connections) connection.destroy();
  return { firstTokenUs: 0, cpuMs: used / SHORT };
}

const sumCpu = (subjects: readonly Subject[]): number => subjects.reduce((sum, { pid }) => sum + cpuMs(pid), 0);

/** Undefined if the machine has no Redis. */
async function startRedis(): Promise<{ readonly url: string; stop(): void } | undefined> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, "close");
  const child = spawn("redis-server", ["--port", String(port), "--save", "", "--bind", "127.0.0.1"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const failed = once(child, "error").then(() => false);
  const ready = (async () => {
    for await (const chunk of child.stdout) if (String(chunk).includes("Ready to accept")) return true;
    return false;
  })();
  if (!(await Promise.race([ready, failed]))) return undefined;
  child.stdout.resume();
  return { url: `redis://127.0.0.1:${port}`, stop: () => child.kill("SIGKILL") };
}
