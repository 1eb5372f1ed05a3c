import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@redis/client";
import { loadConfig } from "../../src/app/load-config.ts";
import { openGateway } from "../../src/app/open-gateway.ts";
import { addKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { startSim } from "../../src/sim/server.ts";
import { startRedis } from "../../test/cluster/support/redis-process.ts";
import type { Answer, DialectAdapter, Said } from "../../test/gateway/support/dialect.ts";
import { DIALECTS } from "../../test/gateway/support/dialects/index.ts";

// Prints what a turn costs Redis and the network between gateways, by face: `node bench/cluster/redis-per-turn.ts`. The figures of
// docs/scaling.md come from here. They are counts and bytes, and do not depend on the machine's load, but for the CPU time of
// Redis. Needs `redis-server`.

const TURNS = 40;
const AT_ONCE = 5;
const NODES = 3;
/** What the user and the model say in each turn. */
const WORDS = 200;
const IDLE_MS = 10_000;

const LOOK = { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } };
const LIMITS = ["100000000 tokens/day", "$5000/total", "100000 requests/minute"];
const SPEECH = "word ".repeat(WORDS).trim();

/** Sums of one Redis since its start. */
interface Sums {
  /** Commands, with those inside scripts. */
  readonly commands: number;
  readonly scripts: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cpuUs: number;
}

type Ask = (node: number, messages: readonly Said[]) => Promise<Answer>;

interface Scenario {
  readonly name: string;
  readonly hasLimits: boolean;
  /** Returns the turn that is measured, after those that lead to it. */
  prepare(ask: Ask, id: number): Promise<() => Promise<unknown>>;
}

const user = (text: string): Said => ({ type: "user", text });

const SCENARIOS: readonly Scenario[] = [
  {
    name: "a first question; a key without limits",
    hasLimits: false,
    prepare: async (ask, id) => () => ask(id, [user(`${id}\n@sim say ${SPEECH}`)]),
  },
  {
    name: "the next question, with thinking, on another gateway; a key with limits",
    hasLimits: true,
    async prepare(ask, id) {
      const first = user(`${id}\n@sim think ${SPEECH} ;; say ${SPEECH}`);
      const answer = await ask(id, [first]);
      return () => ask(id + 1, [first, { type: "answer", answer }, user(`@sim think ${SPEECH} ;; say ${SPEECH}`)]);
    },
  },
  {
    name: "a tool result that is replayed by another gateway, and the next call; a key with limits",
    hasLimits: true,
    async prepare(ask, id) {
      const step = `call look {"at":"a"} ;; wait`;
      const question = user(`${id}\n@sim say ${SPEECH} ;; ${step} ;; say ${SPEECH} ;; ${step}`);
      const answer = await ask(id, [question]);
      const results = answer.calls.map((call) => ({ id: call.id, name: call.name, text: "saw a" }));
      return () => ask(id + 1, [question, { type: "answer", answer }, { type: "results", results }]);
    },
  },
];

const cleanups: (() => unknown)[] = [];
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

async function main(): Promise<void> {
  const redis = await startRedis(defer);
  const operator = await createClient({ url: redis.url }).connect();
  defer(() => operator.destroy());
  const sim = await startSim();
  defer(() => sim.close());
  const nodes: { readonly url: string; readonly home: string }[] = [];
  const open = async () => {
    const home = mkdtempSync(join(tmpdir(), "excursor-per-turn-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    const environment = {
      EXCURSOR_HOME: home,
      EXCURSOR_PORT: "0",
      EXCURSOR_KEY: "exc_a-key-for-measurements-0123456789",
      EXCURSOR_UPSTREAM: sim.url,
      EXCURSOR_TOKEN: "tester",
      EXCURSOR_CLUSTER_REDIS: redis.url,
      EXCURSOR_CLUSTER_NODE: `node-${nodes.length}`,
      EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY: "1000",
      // A late reply is sent again, and would count twice.
      EXCURSOR_LIMITS_REDIS_MS: "10000",
    };
    const gateway = await openGateway(loadConfig({ flags: {}, environment }), { isDemo: false, writeLog: () => {} });
    defer(() => gateway.close(0));
    nodes.push({ url: gateway.url, home });
  };
  /** The replies to INFO are traffic, too, and do not count. */
  let told = 0;
  const sums = async (): Promise<Sums> => {
    const info = await operator.info("all");
    const { bytesOut, ...rest } = readSums(info);
    const counted = { ...rest, bytesOut: bytesOut - told };
    told += info.length;
    return counted;
  };
  await open();
  const idleOfOne = await perSecond(sums, IDLE_MS);
  for (let count = 1; count < NODES; count++) await open();
  const [home] = nodes.map((node) => node.home);
  const limited = await addKey(home ?? "", "limited", { account: undefined, limits: { usage: LIMITS, streams: 500 } });
  const free = await addKey(home ?? "", "free", { account: undefined, limits: { usage: [] } });
  const idle = await perSecond(sums, IDLE_MS);

  console.log(
    `A cluster of ${NODES}; ${WORDS} words (${SPEECH.length} bytes) from the user and as many from the model.\n`,
  );
  console.log("| turn | API | commands in Redis | scripts | bytes to Redis | bytes from Redis | CPU of Redis |");
  console.log("|---|---|---|---|---|---|---|");
  for (const scenario of SCENARIOS) {
    for (const dialect of DIALECTS) {
      const key = (scenario.hasLimits ? limited : free).reveal();
      const ask: Ask = (node, messages) => askAt(nodes[node % nodes.length]?.url ?? "", dialect, key, messages);
      // What a key uses and which scripts Redis has is known afterwards.
      for (let id = 0; id < NODES; id++) await (await scenario.prepare(ask, TURNS + id))();
      const turns = [];
      for (let id = 0; id < TURNS; id++) turns.push(await scenario.prepare(ask, id));
      await untilCalm(sums, idle);
      const [before, begun] = [await sums(), performance.now()];
      while (turns.length > 0) await Promise.all(turns.splice(0, AT_ONCE).map((turn) => turn()));
      await untilCalm(sums, idle);
      const seconds = (performance.now() - begun) / 1000;
      const used = minus(await sums(), before);
      const perTurn = mapSums(used, (value, name) => Math.max(0, (value - idle[name] * seconds) / TURNS));
      console.log(`| ${[scenario.name, dialect.name, ...cells(perTurn)].join(" | ")} |`);
    }
  }
  for (const [name, figures] of [
    ["one gateway without requests, per second", idleOfOne],
    [`${NODES} gateways without requests, per second`, idle],
  ] as const) {
    console.log(`| ${[name, "", ...cells(figures)].join(" | ")} |`);
  }
}

const cells = ({ commands, scripts, bytesIn, bytesOut, cpuUs }: Sums): readonly string[] => [
  commands.toFixed(1),
  scripts.toFixed(1),
  bytesIn.toFixed(0),
  bytesOut.toFixed(0),
  `${cpuUs.toFixed(0)} µs`,
];

async function askAt(url: string, dialect: DialectAdapter, key: string, messages: readonly Said[]): Promise<Answer> {
  const question = { messages, tools: [LOOK], effort: "high" as const };
  // By default, answers of the Responses API are kept.
  const { store: _, ...body } = dialect.body(question, true) as { readonly store?: boolean };
  for (;;) {
    const response = await fetch(`${url}${dialect.path(question, true)}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...dialect.headers(key) },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.ok) return dialect.streamed(text);
    // A key is known to all gateways within a second.
    if (response.status !== 401) throw new Error(`${response.status}: ${text}`);
    await sleep(100);
  }
}

/** Waits until writes in the background are done: for a second Redis has no more work than without requests. */
async function untilCalm(sums: () => Promise<Sums>, idle: Sums): Promise<void> {
  while ((await perSecond(sums, 1000)).commands > 1.5 * idle.commands + 5);
}

async function perSecond(sums: () => Promise<Sums>, ms: number): Promise<Sums> {
  const [before, begun] = [await sums(), performance.now()];
  await sleep(ms);
  const used = minus(await sums(), before);
  const seconds = (performance.now() - begun) / 1000;
  return mapSums(used, (value) => value / seconds);
}

const mapSums = (sums: Sums, change: (value: number, name: keyof Sums) => number): Sums => ({
  commands: change(sums.commands, "commands"),
  scripts: change(sums.scripts, "scripts"),
  bytesIn: change(sums.bytesIn, "bytesIn"),
  bytesOut: change(sums.bytesOut, "bytesOut"),
  cpuUs: change(sums.cpuUs, "cpuUs"),
});

const minus = (sums: Sums, before: Sums): Sums => mapSums(sums, (value, name) => value - before[name]);

/** Reads INFO of Redis. Asking for it is left out. */
function readSums(info: string): Sums {
  const field = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1] ?? 0);
  const calls = (names: string) =>
    [...info.matchAll(new RegExp(`^cmdstat_(?:${names}):calls=(\\d+)`, "gm"))].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  return {
    commands: calls("(?!info)[^:]*"),
    scripts: calls("evalsha|eval"),
    bytesIn: field("total_net_input_bytes"),
    bytesOut: field("total_net_output_bytes"),
    cpuUs: 1e6 * (field("used_cpu_sys") + field("used_cpu_user")),
  };
}

try {
  await main();
} finally {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
