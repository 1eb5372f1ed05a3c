import type { BenchResult } from "./measure.ts";
import { startGateway } from "./processes.ts";
import { measureRequests, warmUp } from "./short-requests.ts";
import { compare, ratioOf, type Testbed } from "./testbed.ts";

/**
 * What metrics cost: CPU for a short request of a gateway that is scraped, against one whose metrics are off. The usage
 * record is on in both, since it cannot be turned off.
 */
export async function measureMetricsCost(bed: Testbed): Promise<BenchResult[]> {
  const [on, off] = await Promise.all([
    startGateway(bed.upstream),
    startGateway(bed.upstream, { EXCURSOR_METRICS: "off" }),
  ]);
  try {
    // The first scrape loads what counts.
    const scrape = await fetch(`http://127.0.0.1:${on.port}/metrics`, {
      headers: { authorization: `Bearer ${on.key}` },
    });
    if (!scrape.ok) throw new Error(`/metrics answers ${scrape.status}`);
    for (const subject of [on, off]) await warmUp(subject);
    const rounds = await compare({ ...bed, floor: off, gateway: on }, measureRequests);
    return [
      { name: "short requests: CPU with metrics / without", ...ratioOf(rounds, ({ cpuUs }) => cpuUs, "µs a request") },
    ];
  } finally {
    await Promise.all([on.stop(), off.stop()]);
  }
}
