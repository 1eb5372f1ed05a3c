import { afterEach, expect, it } from "vitest";
import { type Cluster, openCluster } from "../../../src/cluster/cluster.ts";
import { ForwardedMeters } from "../../../src/cluster/turns/late-usage.ts";
import type { WatchForwarded } from "../../../src/cluster/turns/serve-turn.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import { callIdOf, newRunId } from "../../../src/core/engine/run/call-names.ts";
import type { Usage } from "../../../src/core/events.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";
import { aTurn, done, text } from "../../core/support/turns.ts";
import { hasRedis, type RedisProcess, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

async function open(redis: RedisProcess, name: string): Promise<Cluster> {
  const secret = new Secret("the secret of the cluster, long enough");
  const options = { redis: new Secret(redis.url), secret, name, advertise: undefined, version: "1", log };
  const cluster = await openCluster(options);
  cleanups.push(() => cluster.close());
  return cluster;
}

const used = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: false,
});

it.skipIf(!hasRedis)(
  "usage that the upstream reports after the answer reaches the gateway that was asked",
  async () => {
    const redis = await startRedis((cleanup) => cleanups.push(cleanup));
    const [home, asked] = [await open(redis, "home"), await open(redis, "asked")];
    const run: Engine["run"] = async function* () {
      yield [text("an answer"), done()];
    };
    const stats = () => ({ parkedRuns: 0, parkedBytes: 0 });
    const parts: Partial<Engine> = { run, stats, transcriptOf: () => undefined, stopParking: () => {} };
    const engine = parts as Engine;
    const corrections: ((difference: Usage) => void)[] = [];
    const watch: WatchForwarded = (_requestId, _turn, onCorrected) => {
      corrections.push(onCorrected);
      return {
        meter: { opens: () => expect.unreachable(), goesOn: () => {}, used: () => {} },
        observer: { phase: () => {} },
        end: () => {},
      };
    };
    await home.join({ engine, watch, route: () => undefined });
    const forwarding = await asked.join({ engine, watch: () => expect.unreachable(), route: () => undefined });
    const ask = async () => {
      const corrected: Usage[] = [];
      const meter = { used: () => {}, corrected: (difference: Usage) => void corrected.push(difference) };
      const callId = callIdOf(newRunId(home.tag), 0);
      const turn = aTurn({ messages: [{ role: "tool", callId, content: [], isError: false }] });
      await Array.fromAsync(forwarding.run(turn, { requestId: "r", signal: new AbortController().signal, meter }));
      return corrected;
    };
    const [first, second] = [await ask(), await ask()];
    corrections[0]?.(used(5, -3));
    corrections[1]?.(used(0, 7));
    await expect.poll(() => [first, second]).toEqual([[used(5, -3)], [used(0, 7)]]);
  },
);

it("the meters of forwarded turns are forgotten after a minute", () => {
  let now = 0;
  const meters = new ForwardedMeters(() => now);
  const corrected: number[] = [];
  const keep = (name: number) => meters.keep({ used: () => {}, corrected: () => void corrected.push(name) });
  const [first, second] = [keep(1), keep(2)];
  now = 59_000;
  keep(3);
  meters.correct({ id: first, difference: used(1, 1) });
  now = 61_000;
  keep(4);
  meters.correct({ id: second, difference: used(1, 1) });
  expect(corrected).toEqual([1]);
});
