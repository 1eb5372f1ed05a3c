import { afterEach, describe, expect, it } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { type ComposedCluster, hasBalancer, startComposed } from "../support/compose-processes.ts";
import { playTask, type TaskOutcome } from "../support/tool-task.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 120_000);
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const TASKS = Number(process.env["CLUSTER_TASKS"] ?? 200);
const TOOLS = 10;

async function setUp(more: Readonly<Record<string, string>> = {}) {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry) });
  defer(() => sim.close());
  const cluster = await startComposed(defer, {
    EXCURSOR_KEY: KEY,
    EXCURSOR_TOKEN: "tester",
    EXCURSOR_UPSTREAM: sim.url,
    EXCURSOR_CLUSTER_SECRET: "a secret that the tests share, of many characters".replaceAll(" ", "-"),
    EXCURSOR_LOG_LEVEL: "warn",
    EXCURSOR_LIMITS_REQUESTS_PER_KEY: "1024",
    EXCURSOR_LIMITS_STREAMS_PER_KEY: "1024",
    EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY: "1000",
    ...more,
  });
  return { cluster, runs: () => trace.filter(({ kind }) => kind === "run_request").length };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Plays the tasks, each again and again until the trouble beside them is over. */
async function play(cluster: ComposedCluster, trouble: () => Promise<void> = async () => {}) {
  let isOver = false;
  const troubled = trouble().finally(() => {
    isOver = true;
  });
  const worker = async (id: number) => {
    const outcomes = [await playTask({ url: cluster.url, id, tools: TOOLS })];
    while (!isOver) outcomes.push(await playTask({ url: cluster.url, id, tools: TOOLS }));
    return outcomes;
  };
  const tasks = (await Promise.all(Array.from({ length: TASKS }, (_, id) => worker(id)))).flat();
  await troubled;
  const reasons = Map.groupBy(
    tasks.flatMap(({ errors }) => errors),
    (error) => error,
  );
  for (const [reason, all] of reasons) console.info(`${all.length} × ${reason}`);
  const sum = (pick: (task: TaskOutcome) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  return {
    played: tasks.length,
    missing: tasks.length * TOOLS - sum(({ calls }) => calls),
    doubled: sum(({ doubled }) => doubled),
    retries: sum(({ errors }) => errors.length),
  };
}

describe.skipIf(!hasBalancer)(`${TASKS} tasks of ${TOOLS} tools at once, over three gateways`, () => {
  it("complete without a call twice", async () => {
    const { cluster, runs } = await setUp();
    const { played, retries, ...outcome } = await play(cluster);
    console.info(`calm: ${played} tasks, ${runs()} runs, ${retries} requests sent again`);
    expect(outcome).toEqual({ missing: 0, doubled: 0 });
  });

  it("complete while gateways are killed and Redis is paused, killed and restarted empty", async () => {
    const { cluster, runs } = await setUp();
    const { played, retries, ...outcome } = await play(cluster, async () => {
      const [first, second] = cluster.nodes;
      await wait(2000);
      cluster.redis.signal("SIGSTOP");
      await wait(1500);
      cluster.redis.signal("SIGCONT");
      await first?.stop("SIGKILL");
      await first?.restart();
      await cluster.redis.kill();
      await wait(1000);
      await cluster.redis.restart();
      await second?.stop("SIGKILL");
      await second?.restart();
    });
    console.info(`chaos: ${played} tasks, ${runs()} runs, ${retries} requests sent again`);
    expect(outcome).toEqual({ missing: 0, doubled: 0 });
  });

  it("complete during a rolling restart, and no answer is cut", async () => {
    const { cluster, runs } = await setUp();
    const { played, ...outcome } = await play(cluster, async () => {
      for (const node of cluster.nodes) {
        expect(await node.stop("SIGTERM")).toBe(0);
        await node.restart();
        // The balancer has to see it before the next one goes.
        await wait(2000);
      }
    });
    console.info(`rolling restart: ${played} tasks, ${runs()} runs`);
    expect(outcome).toEqual({ missing: 0, doubled: 0, retries: 0 });
  });
});
