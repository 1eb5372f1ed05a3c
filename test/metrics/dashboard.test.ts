import { describe, expect, it } from "vitest";
import { Metrics } from "../../src/metrics/metrics.ts";
import { alertRules, dashboardQueries } from "./support/dashboard.ts";
import { readMetrics } from "./support/read-metrics.ts";
import { requestRecord, SOURCES, toolCallRecord } from "./support/records.ts";

const NAME = /\b(?:excursor|nodejs|process)_[a-z0-9_]+/g;

/** The names of all series of a gateway that has seen everything. */
async function seriesNames(): Promise<ReadonlySet<string>> {
  const metrics = new Metrics({ ...SOURCES, traces: () => ({ exported: 1, dropped: 1 }) });
  metrics.request(requestRecord({ run: { type: "replayed", reason: "expired" } }));
  metrics.request(requestRecord({ status: 502, errorCode: "upstream_error" }));
  metrics.toolCall(toolCallRecord());
  return new Set(readMetrics(await metrics.render()).map(({ name }) => name));
}

describe("the dashboard and the alerts", () => {
  it("ask only for series that exist", async () => {
    const names = await seriesNames();
    const queries = dashboardQueries();
    expect(queries.length).toBeGreaterThan(25);
    for (const [title, expr] of [...queries, ["alerts", alertRules()] as const]) {
      for (const [name] of expr.matchAll(NAME)) expect(names.has(name), `${title}: ${name}`).toBe(true);
    }
  });

  it("show every metric of ours", async () => {
    const asked = dashboardQueries()
      .map(([, expr]) => expr)
      .join();
    const families = [...(await seriesNames())]
      .filter((name) => name.startsWith("excursor_"))
      .map((name) => name.replace(/_(?:bucket|sum|count)$/, ""));
    expect(families.filter((family) => !asked.includes(family))).toEqual([]);
  });
});
