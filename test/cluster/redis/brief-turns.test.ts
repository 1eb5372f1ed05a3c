import { afterEach, describe, expect, it } from "vitest";
import { withBriefTurns } from "../../../src/cluster/redis/brief-turns.ts";
import { openRedisLink } from "../../../src/cluster/redis/redis-link.ts";
import type { Engine } from "../../../src/core/engine/engine.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { Secret } from "../../../src/core/secret.ts";
import { aTurn } from "../../core/support/turns.ts";
import { hasRedis, startRedis } from "../support/redis-process.ts";

const cleanups: (() => unknown)[] = [];
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(!hasRedis)("the turns of a run of Cursor's clients", () => {
  it("wait once for a Redis that is paused, and not with each question (REL-45)", async () => {
    const redis = await startRedis(defer);
    const link = await openRedisLink({ url: new Secret(redis.url), log: SILENT });
    defer(() => link.close());
    const outcomes: string[] = [];
    const event: TurnEvent = { type: "text", text: "x" };
    const engine = withBriefTurns<Pick<Engine, "run">>(
      {
        async *run() {
          for (let question = 0; question < 3; question++) {
            outcomes.push(
              await link.askBriefly(
                async (client) => String(await client.ping()),
                (why) => why,
              ),
            );
            yield [event];
          }
        },
      },
      link,
    );
    const play = () => Array.fromAsync(engine.run(aTurn(), { requestId: "r", signal: new AbortController().signal }));
    await play();
    expect(outcomes.splice(0)).toEqual(["PONG", "PONG", "PONG"]);
    redis.signal("SIGSTOP");
    defer(() => redis.signal("SIGCONT"));
    await play();
    expect(outcomes).toEqual(["late", "away", "away"]);
  });
});
