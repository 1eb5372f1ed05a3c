import type { BenchResult } from "../harness/measure.ts";
import { startFace } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";
import { runCost } from "../streams/cursor-face.ts";

const FULL_SPEED = { streams: 16, tokens: 20_000 };

/** What a capture costs: CPU per token of the pass-through that records, against one that does not. */
export async function measureCaptureCost(bed: Testbed): Promise<BenchResult[]> {
  const [on, off] = await Promise.all([
    startFace(bed.upstream, { EXCURSOR_CAPTURE: "true", EXCURSOR_LIMITS_CAPTURE_BYTES: String(8 * 1024 ** 3) }),
    startFace(bed.upstream, {}),
  ]);
  try {
    const rounds = await compare({ floor: off.cursor, gateway: on.cursor }, (subject) =>
      runCost(subject, FULL_SPEED, "composer-1"),
    );
    return [
      {
        name: `capture: CPU per token with / without, full speed, ${FULL_SPEED.streams} streams`,
        bound: 1.25,
        ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs"),
      },
    ];
  } finally {
    await Promise.all([on.stop(), off.stop()]);
  }
}
