import { afterEach, describe, expect, it } from "vitest";
import { type Balancing, hasBalancer } from "../support/compose-processes.ts";
import { type FaultFigures, runWithFaults } from "../support/fault-run.ts";
import { GATEWAY_TROUBLES, makeTrouble, REDIS_LOSS, REDIS_TROUBLES, type Trouble } from "../support/trouble.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 120_000);
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

const TASKS = Number(process.env["CLUSTER_TASKS"] ?? 24);
/** The seed of the random moments. A run that failed is repeated with the seed that it has printed. */
const SEED = Number(process.env["CLUSTER_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const NOTHING_WRONG = { missing: 0, doubled: 0, hung: 0 };

const run = (balancing: Balancing, troubles: readonly Trouble[]): Promise<FaultFigures> =>
  runWithFaults(defer, {
    seed: SEED,
    tasks: TASKS,
    balancing,
    maxToolMs: troubles.length > 0 ? 2000 : 0,
    trouble: (cluster) => makeTrouble(cluster, troubles, SEED),
  });

const BALANCING: readonly Balancing[] = ["kept together", "in turn"];

describe.skipIf(!hasBalancer).each(BALANCING)(
  `${TASKS} tasks at once in every dialect, over three gateways, %s`,
  (balancing) => {
    it("complete without a call twice", async () => {
      const figures = await run(balancing, []);
      expect(figures).toMatchObject({
        ...NOTHING_WRONG,
        hubMissing: 0,
        hubDoubled: 0,
        unknownAnswers: 0,
        sentAgain: 0,
      });
      // A balancer that does not keep a conversation together pays a replay for most of its requests.
      if (balancing === "kept together") expect(figures.replays).toBe(0);
      else expect(figures.replays).toBeGreaterThan(TASKS);
    });

    it("complete while gateways are killed, frozen and restarted at random moments", async () => {
      const figures = await run(balancing, [...GATEWAY_TROUBLES, ...GATEWAY_TROUBLES, "kill", "kill"]);
      expect(figures).toMatchObject({ ...NOTHING_WRONG, hubDoubled: 0, unknownAnswers: 0 });
      // A call that was about to be made when its gateway died is not made: the model is told that its outcome is unknown.
      expect(figures.hubMissing).toBeLessThanOrEqual(figures.sentAgain);
      // Otherwise nothing is proven.
      expect(figures.sentAgain).toBeGreaterThan(0);
    });

    it("complete while Redis is killed, paused, full, read-only and slow at random moments", async () => {
      const figures = await run(balancing, [...REDIS_TROUBLES, ...REDIS_TROUBLES]);
      expect(figures).toMatchObject({ ...NOTHING_WRONG, hubMissing: 0, hubDoubled: 0, unknownAnswers: 0 });
    });

    it("complete while Redis comes back empty", async () => {
      const figures = await run(balancing, [REDIS_LOSS, REDIS_LOSS, REDIS_LOSS]);
      expect(figures).toMatchObject({ ...NOTHING_WRONG, hubMissing: 0, hubDoubled: 0 });
    });

    it("complete while all of this happens at once", async () => {
      const figures = await run(balancing, [...GATEWAY_TROUBLES, ...REDIS_TROUBLES, REDIS_LOSS, "kill", "kill"]);
      expect(figures).toMatchObject(NOTHING_WRONG);
      // A gateway may die while Redis does not know of its call: docs/scaling.md.
      expect(figures.hubDoubled).toBeLessThanOrEqual(3);
      expect(figures.hubMissing).toBeLessThanOrEqual(figures.sentAgain);
    });

    it("complete during a rolling restart, and no answer is cut (REL-47)", async () => {
      const figures = await runWithFaults(defer, {
        seed: SEED,
        tasks: TASKS,
        balancing,
        maxToolMs: 4000,
        async trouble({ nodes, untilServed }) {
          for (const node of nodes) {
            expect(await node.stop("SIGTERM")).toBe(0);
            await node.restart();
            await untilServed(node);
          }
        },
      });
      expect(figures).toMatchObject({
        ...NOTHING_WRONG,
        hubMissing: 0,
        hubDoubled: 0,
        unknownAnswers: 0,
        sentAgain: 0,
      });
      expect(figures.replays).toBeGreaterThan(0);
    });
  },
);
