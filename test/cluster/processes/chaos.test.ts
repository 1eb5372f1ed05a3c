import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { numbers } from "../../usage/support/mixed-conversations.ts";
import { hasBalancer, startComposed } from "../support/compose-processes.ts";
import { notesOf, playTask, type TaskOutcome } from "../support/tool-task.ts";
import { makeTrouble, type Troubles } from "../support/trouble.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 120_000);
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const TASKS = Number(process.env["CLUSTER_TASKS"] ?? 200);
const TOOLS = 10;
/** The seed of the random moments. A run that failed is repeated with the seed that it has printed. */
const SEED = Number(process.env["CLUSTER_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** A Redis that is late counts as away, and 200 tasks on few cores make it late. */
const PATIENT_MS = 10_000;
/** The default of `limits.redisMs`. */
const USUAL_MS = 50;

const NOTING_SERVER = fileURLToPath(new URL("../support/noting-server.ts", import.meta.url));

/** Three gateways whose hub has a real MCP server each. All of these servers write to one file. */
async function setUp(redisMs = PATIENT_MS) {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry) });
  defer(() => sim.close());
  const folder = mkdtempSync(join(tmpdir(), "excursor-notes-"));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "notes");
  const mcpServers = { notes: { command: process.execPath, args: [NOTING_SERVER, file] } };
  const cluster = await startComposed(
    defer,
    {
      EXCURSOR_KEY: KEY,
      EXCURSOR_TOKEN: "tester",
      EXCURSOR_UPSTREAM: sim.url,
      EXCURSOR_CLUSTER_SECRET: "a-secret-that-the-tests-share-of-many-characters",
      EXCURSOR_LOG_LEVEL: "warn",
      EXCURSOR_TOOLS: "hub",
      EXCURSOR_LIMITS_REQUESTS_PER_KEY: "1024",
      EXCURSOR_LIMITS_STREAMS_PER_KEY: "1024",
      EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY: "1000",
      EXCURSOR_LIMITS_REDIS_MS: String(redisMs),
    },
    (home) => writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 }),
  );
  return {
    cluster,
    runs: () => trace.filter(({ kind }) => kind === "run_request").length,
    notes: () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []),
  };
}

type Stage = Awaited<ReturnType<typeof setUp>>;

/** Plays tasks, as many at once as there are workers, until the trouble beside them is over. */
async function play(
  name: string,
  { cluster, runs, notes }: Stage,
  { trouble = async () => {}, maxToolMs = 0 }: { trouble?: () => Promise<void>; maxToolMs?: number } = {},
) {
  const random = numbers(SEED);
  const toolMs = () => (random.next().value / 2 ** 31) * maxToolMs;
  const begun = performance.now();
  let isOver = false;
  const troubled = trouble().finally(() => {
    isOver = true;
  });
  const expected: string[] = [];
  const worker = async (id: number) => {
    const outcomes: TaskOutcome[] = [];
    do {
      const task = { url: cluster.url, id: `${id}-${outcomes.length}`, tools: TOOLS, toolMs };
      outcomes.push(await playTask(task));
      expected.push(...notesOf(task));
    } while (!isOver);
    return outcomes;
  };
  const tasks = (await Promise.all(Array.from({ length: TASKS }, (_, id) => worker(id)))).flat();
  await troubled;
  const sum = (pick: (task: TaskOutcome) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  const noted = notes();
  const once = new Set(noted);
  const calls = sum(({ calls }) => calls);
  const figures = {
    missing: tasks.length * TOOLS - calls,
    doubled: sum(({ doubled }) => doubled),
    hung: sum(({ hung }) => hung),
    hubMissing: expected.length - expected.filter((note) => once.has(note)).length,
    hubDoubled: noted.length - once.size,
    /** Each task needs one run. More are conversations that were replayed into a new one. */
    replays: runs() - tasks.length,
    sentAgain: sum(({ errors }) => errors.length),
  };
  const all = { seed: SEED, tasks: tasks.length, calls, hubCalls: noted.length, ...figures };
  const line = Object.entries(all).map(([key, value]) => `${key}=${value}`);
  const slowest = Math.max(...tasks.map((task) => task.slowest));
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
  console.info(
    `${name}: ${line.join(" ")} in ${seconds(performance.now() - begun)}, slowest request ${seconds(slowest)}`,
  );
  const reasons = Map.groupBy(
    tasks.flatMap(({ errors }) => errors),
    (error) => error,
  );
  for (const [reason, group] of reasons) console.info(`${group.length} × ${reason}`);
  return figures;
}

const NOTHING_WRONG = { missing: 0, doubled: 0, hung: 0 };
const HUB_RIGHT = { hubMissing: 0, hubDoubled: 0 };

/** Fails if the kills have hit no run: then nothing is proven. */
function expectHits({ replays, sentAgain }: Awaited<ReturnType<typeof play>>, { kills }: Troubles): void {
  expect(replays).toBeGreaterThan(5 * kills);
  expect(sentAgain).toBeGreaterThan(0);
}

describe.skipIf(!hasBalancer)(`${TASKS} tasks of ${TOOLS} tools at once, over three gateways`, () => {
  it("complete without a call twice", async () => {
    const { replays, ...figures } = await play("calm", await setUp());
    expect(figures).toEqual({ ...NOTHING_WRONG, ...HUB_RIGHT, sentAgain: 0 });
    // A gateway without CPU for seconds counts as gone.
    expect(replays).toBeLessThanOrEqual(TASKS / 20);
  });

  it("complete while gateways are killed at random moments", async () => {
    const troubles = { kills: 8, pauses: 0, losses: 0 };
    const stage = await setUp();
    const trouble = () => makeTrouble(stage.cluster, troubles, SEED);
    const figures = await play("kills", stage, { trouble, maxToolMs: 2000 });
    expect(figures).toMatchObject({ ...NOTHING_WRONG, hubDoubled: 0 });
    // A call that was about to be made when its gateway died is not made: the model is told that its outcome is unknown.
    expect(figures.hubMissing).toBeLessThanOrEqual(figures.sentAgain);
    expectHits(figures, troubles);
  });

  it("complete while Redis is paused, killed and restarted empty at random moments", async () => {
    const troubles = { kills: 0, pauses: 3, losses: 3 };
    const stage = await setUp(USUAL_MS);
    const trouble = () => makeTrouble(stage.cluster, troubles, SEED);
    const figures = await play("no Redis", stage, { trouble, maxToolMs: 2000 });
    expect(figures).toMatchObject({ ...NOTHING_WRONG, ...HUB_RIGHT, sentAgain: 0 });
  });

  it("complete while all of this happens at once", async () => {
    const troubles = { kills: 8, pauses: 3, losses: 3 };
    const stage = await setUp(USUAL_MS);
    const trouble = () => makeTrouble(stage.cluster, troubles, SEED);
    const figures = await play("kills and no Redis", stage, { trouble, maxToolMs: 2000 });
    expect(figures).toMatchObject(NOTHING_WRONG);
    // A gateway may die before any other one knows of its call: docs/scaling.md.
    expect(figures.hubDoubled).toBeLessThanOrEqual(troubles.kills);
    expect(figures.hubMissing).toBeLessThanOrEqual(figures.sentAgain);
    expectHits(figures, troubles);
  });

  it("complete during a rolling restart, and no answer is cut (REL-47)", async () => {
    const stage = await setUp();
    const { nodes, untilServed } = stage.cluster;
    const trouble = async () => {
      for (const node of nodes) {
        expect(await node.stop("SIGTERM")).toBe(0);
        await node.restart();
        await untilServed(node);
      }
    };
    const figures = await play("rolling restart", stage, { trouble, maxToolMs: 8000 });
    expect(figures).toMatchObject({ ...NOTHING_WRONG, ...HUB_RIGHT, sentAgain: 0 });
    // A gateway that stops parks nothing, so its runs go on elsewhere.
    expect(figures.replays).toBeGreaterThan(0);
  });
});
