import type { BenchResult } from "../harness/measure.ts";
import { startGateway } from "../harness/processes.ts";
import { compare, ratioOf, type Testbed } from "../harness/testbed.ts";
import { measureRequests, warmUp } from "../streams/short-requests.ts";

const OFF = { EXCURSOR_METRICS: "off", EXCURSOR_USAGE_RECORD: "off" };

/**
 * What the metrics and the usage record cost: CPU for a short request of a gateway that has both and is scraped, against
 * one without metrics, and against one with neither.
 */
export async function measureMetricsCost(bed: Testbed): Promise<BenchResult[]> {
  const [on, recorded, off] = await Promise.all([
    startGateway(bed.upstream),
    startGateway(bed.upstream, { EXCURSOR_METRICS: OFF.EXCURSOR_METRICS }),
    startGateway(bed.upstream, OFF),
  ]);
  try {
    // The first scrape loads what counts.
    const scrape = await fetch(`http://127.0.0.1:${on.port}/metrics`, {
      headers: { authorization: `Bearer ${on.key}` },
    });
    if (!scrape.ok) throw new Error(`/metrics answers ${scrape.status}`);
    for (const subject of [on, recorded, off]) await warmUp(subject);
    const against = async (name: string, floor: typeof on): Promise<BenchResult> => {
      const rounds = await compare({ floor, gateway: on }, measureRequests);
      return { name, ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs a request") };
    };
    return [
      await against("short requests: CPU with metrics / without", recorded),
      await against("short requests: CPU with usage record and metrics / with neither", off),
    ];
  } finally {
    await Promise.all([on.stop(), recorded.stop(), off.stop()]);
  }
}
