import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Connection, StreamedAnswer } from "../clients/load.ts";
import { ToolLoop } from "../clients/tool-loop.ts";
import { type BenchResult, percentile } from "../harness/measure.ts";
import { type Subject, startGateway } from "../harness/processes.ts";
import { inTurn, measureRounds, type Round, ratioOf, type Testbed } from "../harness/testbed.ts";
import { cpuMs } from "../harness/usage.ts";

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
 * Measures follow-ups that a balancer keeps at the gateway of their run, with Redis against without, and those that another
 * gateway replays. Measures short requests to a gateway alone against those to three with Redis. Needs `redis-server`.
 */
export async function measureCluster(bed: Testbed): Promise<BenchResult[]> {
  const redis = await startRedis();
  if (!redis) return [];
  const settings = { EXCURSOR_CLUSTER_REDIS: redis.url };
  const open = (name: string) => startGateway(bed.upstream, { ...settings, EXCURSOR_CLUSTER_NODE: name });
  const [home, other, third] = [await open("home"), await open("other"), await open("third")];
  const alone = await startGateway(bed.upstream, {});
  const nodes = [home, other, third];
  const compare = async (measure: (isSecond: boolean) => Promise<Sample>) => {
    for (let n = 0; n < WARM_UP_ROUNDS; n++) await both(n, measure);
    const rounds: readonly Round<Sample>[] = await measureRounds((round) => both(round, measure));
    return rounds;
  };
  try {
    const kept = await compare((isShared) => {
      const at = isShared ? home : alone;
      return followUps(at, at, [at]);
    });
    const replayed = await compare((isElsewhere) => followUps(home, isElsewhere ? other : home, [home, other]));
    const short = await compare((isCluster) => shortRequests(isCluster ? nodes : [bed.gateway]));
    return [
      {
        name: "follow-up with Redis, kept together: time to first token, p50, to that without Redis",
        bound: 1.25,
        ...ratioOf(kept, ({ firstTokenUs }) => firstTokenUs, "µs"),
      },
      {
        name: `follow-up of ${TOKENS} tokens with Redis, kept together: CPU, to that without Redis`,
        bound: 1.25,
        ...ratioOf(kept, ({ cpuMs: ms }) => ms, "ms"),
      },
      {
        name: "follow-up that another gateway replays: time to first token, p50, to that kept together",
        ...ratioOf(replayed, ({ firstTokenUs }) => firstTokenUs, "µs"),
      },
      { name: "the same: CPU of both gateways", ...ratioOf(replayed, ({ cpuMs: ms }) => ms, "ms") },
      { name: "short request to three gateways: CPU to that of one", ...ratioOf(short, ({ cpuMs: ms }) => ms, "ms") },
    ];
  } finally {
    await Promise.all([alone, ...nodes].map((node) => node.stop()));
    redis.stop();
  }
}

const both = <T>(round: number, measure: (isSecond: boolean) => Promise<T>) =>
  inTurn(round, { floor: false, gateway: true }, measure);

/** Opens a run at one gateway, and goes on with it at the same or another one. */
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
