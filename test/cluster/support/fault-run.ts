import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startSim } from "../../../src/sim/server.ts";
import { DIALECTS } from "../../gateway/support/dialects/index.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { numbers } from "../../usage/support/mixed-conversations.ts";
import { type Balancing, type ComposedCluster, startComposed } from "./compose-processes.ts";
import { notesOf, playStored, playTask, type TaskOutcome } from "./tool-task.ts";

const NOTING_SERVER = fileURLToPath(new URL("./noting-server.ts", import.meta.url));

/** Calls of the client in each task. */
const TOOLS = 10;

export interface FaultRunOptions {
  readonly seed: number;
  /** How many tasks run at once. Each is begun again until the trouble is over. */
  readonly tasks: number;
  readonly balancing: Balancing;
  /** How long a tool takes, at most. */
  readonly maxToolMs?: number;
  /** Resolves when the trouble is over. */
  readonly trouble: (cluster: ComposedCluster) => Promise<void>;
}

/** What was wrong in a run. All are 0 if nothing was. */
export interface FaultFigures {
  readonly tasks: number;
  readonly missing: number;
  readonly doubled: number;
  readonly hung: number;
  readonly unknownAnswers: number;
  readonly hubMissing: number;
  readonly hubDoubled: number;
  /** Requests that were sent again. They are no faults while gateways are killed. */
  readonly sentAgain: number;
  /** Runs of the upstream beyond one for each task. */
  readonly replays: number;
}

/**
 * Plays tasks in every dialect over three gateways, which share a hub that notes its calls, beside trouble. Each sixth task
 * is a conversation of stored answers.
 */
export async function runWithFaults(
  defer: (cleanup: () => unknown) => void,
  { seed, tasks: workers, balancing, maxToolMs = 0, trouble }: FaultRunOptions,
): Promise<FaultFigures> {
  let runs = 0;
  const sim = await startSim({ trace: ({ kind }) => kind === "run_request" && runs++ });
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
      EXCURSOR_LOG_LEVEL: "warn",
      EXCURSOR_TOOLS: "hub",
      EXCURSOR_LIMITS_REQUESTS_PER_KEY: "1024",
      EXCURSOR_LIMITS_STREAMS_PER_KEY: "1024",
      EXCURSOR_LIMITS_PARKED_RUNS_PER_KEY: "1000",
    },
    {
      balancing,
      prepareHome: (home) => writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 }),
    },
  );
  const random = numbers(seed);
  const toolMs = () => (random.next().value / 2 ** 31) * maxToolMs;
  const begun = performance.now();
  let isOver = false;
  const troubled = trouble(cluster).finally(() => {
    isOver = true;
  });
  const expected: string[] = [];
  let stored = 0;
  const worker = async (id: number) => {
    const outcomes: TaskOutcome[] = [];
    const dialect = DIALECTS[id % (DIALECTS.length + 1)];
    do {
      const options = { url: cluster.url, id: `${id}-${outcomes.length}`, tools: TOOLS, toolMs };
      if (dialect) {
        outcomes.push(await playTask({ ...options, dialect }));
        expected.push(...notesOf(options));
      } else {
        outcomes.push(await playStored({ ...options, dialect: DIALECTS[0] as (typeof DIALECTS)[number] }));
        stored++;
      }
    } while (!isOver);
    return outcomes;
  };
  const tasks = (await Promise.all(Array.from({ length: workers }, (_, id) => worker(id)))).flat();
  await troubled;
  const sum = (pick: (task: TaskOutcome) => number) => tasks.reduce((total, task) => total + pick(task), 0);
  const noted = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  const once = new Set(noted);
  const figures: FaultFigures = {
    tasks: tasks.length,
    missing: (tasks.length - stored) * TOOLS - sum(({ calls }) => calls),
    doubled: sum(({ doubled }) => doubled),
    hung: sum(({ hung }) => hung),
    unknownAnswers: sum(({ unknown }) => unknown),
    hubMissing: expected.filter((note) => !once.has(note)).length,
    hubDoubled: noted.length - once.size,
    sentAgain: sum(({ errors }) => errors.length),
    replays: runs - (tasks.length - stored) - stored * TOOLS,
  };
  const slowest = Math.max(...tasks.map((task) => task.slowest));
  const line = Object.entries({ seed, balancing, hubCalls: noted.length, ...figures }).map((pair) => pair.join("="));
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
  console.info(`${line.join(" ")} in ${seconds(performance.now() - begun)}, slowest request ${seconds(slowest)}`);
  const reasons = Map.groupBy(
    tasks.flatMap(({ errors }) => errors),
    (error) => error.slice(0, 200),
  );
  for (const [reason, group] of reasons) console.info(`${group.length} × ${reason}`);
  return figures;
}
