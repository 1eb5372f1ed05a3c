import { parseArgs } from "node:util";
import { runWithFaults } from "./support/fault-run.ts";
import { GATEWAY_TROUBLES, makeTrouble, REDIS_TROUBLES } from "./support/trouble.ts";

// Plays the tasks of test/cluster/processes/faults.test.ts under all troubles for a long time:
// `node test/cluster/play-faults.ts --minutes 30 --seed 1`. Needs redis-server and haproxy.

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    tasks: { type: "string", default: "24" },
    "in-turn": { type: "boolean", default: false },
  },
});

const cleanups: (() => unknown)[] = [];
const until = performance.now() + Number(values.minutes) * 60_000;
try {
  const { missing, doubled, hung, hubDoubled } = await runWithFaults((cleanup) => void cleanups.push(cleanup), {
    seed: Number(values.seed),
    tasks: Number(values.tasks),
    balancing: values["in-turn"] ? "in turn" : "kept together",
    maxToolMs: 2000,
    async trouble(cluster) {
      for (let round = 0; performance.now() < until; round++) {
        await makeTrouble(cluster, [...GATEWAY_TROUBLES, ...REDIS_TROUBLES], Number(values.seed) + round);
      }
    },
  });
  process.exitCode = missing + doubled + hung === 0 ? 0 : 1;
  if (hubDoubled > 0) console.info(`${hubDoubled} hub calls were made twice.`);
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup();
}
