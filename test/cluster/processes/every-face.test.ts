import { describe } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { describeEveryFace } from "../../gateway/support/describe-every-face.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { hasBalancer, startComposed } from "../support/compose-processes.ts";

/** The scenarios of one gateway, unchanged, through a balancer that sends each request to another one. */
describe.skipIf(!hasBalancer)("through the balancer", () => {
  describeEveryFace(async (hostConfig, defer) => {
    const trace: TraceEntry[] = [];
    const sim = await startSim({ hostConfig, trace: (entry) => trace.push(entry) });
    defer(() => sim.close());
    const { url, startOther } = await startComposed(defer, {
      EXCURSOR_KEY: KEY,
      EXCURSOR_TOKEN: "tester",
      EXCURSOR_UPSTREAM: sim.url,
      // On a busy machine Redis is late, and a conversation would be replayed where its checkpoint is expected.
      EXCURSOR_LIMITS_REDIS_MS: "5000",
    });
    return { trace, url, startOther };
  });
});
