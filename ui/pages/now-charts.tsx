import { useEffect, useMemo, useState } from "preact/hooks";
import type { SeriesPoint, SeriesRange } from "../../src/usage/queries/usage-series.ts";
import { dollars, roughDollars, short, span, whole } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { useLoaded } from "../parts/use-loaded.ts";

const RANGES: readonly { readonly range: SeriesRange; readonly title: string; readonly everyMs: number }[] = [
  { range: "hour", title: "Hour", everyMs: 5000 },
  { range: "day", title: "Day", everyMs: 60_000 },
  { range: "month", title: "Month", everyMs: 300_000 },
];

const NO_POINTS: readonly SeriesPoint[] = [];

/** What the usage record says of the last hour, day or month. */
export function NowCharts() {
  const [range, setRange] = useState<SeriesRange>("hour");
  const { value, error, reload } = useLoaded<{ readonly points: readonly SeriesPoint[] }>(`/series?range=${range}`);
  useEffect(() => {
    const timer = setInterval(reload, RANGES.find((one) => one.range === range)?.everyMs);
    return () => clearInterval(timer);
  }, [range, reload]);
  const points = value?.points ?? NO_POINTS;
  const sum = (of: (point: SeriesPoint) => number) => points.reduce((total, point) => total + of(point), 0);
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const lines = useMemo(() => linesOf(points), [points]);
  const requests = sum((point) => point.requests);
  const errors = sum((point) => point.errors);
  const tokens = [sum((point) => point.inputTokens), sum((point) => point.outputTokens)];
  const firstTokenMs = meanOf(points);
  const cost = sum((point) => point.costMicros);
  const choice = (
    <fieldset class="segments" aria-label="Range of the charts">
      {RANGES.map((one) => (
        <button key={one.range} type="button" aria-pressed={one.range === range} onClick={() => setRange(one.range)}>
          {one.title}
        </button>
      ))}
    </fieldset>
  );
  return (
    <Section title={`The last ${range}`} actions={choice}>
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="charts">
        <div class="card chart">
          <div class="chart-head">
            <h3>Requests</h3>
            <span class="legend">fine</span>
            <span class="legend c4">failed</span>
            <span class="muted">
              {whole(requests)}, {whole(errors)} failed
            </span>
          </div>
          <Chart
            label={`${requests} requests, ${errors} failed`}
            times={times}
            lines={lines.requests}
            kind="bars"
            format={short}
          />
        </div>
        <div class="card chart">
          <div class="chart-head">
            <h3>Tokens</h3>
            <span class="legend">input</span>
            <span class="legend c2">output</span>
            <span class="muted">
              {short(tokens[0])} in, {short(tokens[1])} out
            </span>
          </div>
          <Chart
            label={`${tokens[0]} input tokens, ${tokens[1]} output tokens`}
            times={times}
            lines={lines.tokens}
            kind="bars"
            format={short}
          />
        </div>
        <div class="card chart">
          <div class="chart-head">
            <h3>Time to the first token</h3>
            <span class="muted">mean {span(firstTokenMs)}</span>
          </div>
          <Chart
            label={`Mean time to the first token: ${span(firstTokenMs)}`}
            times={times}
            lines={lines.first}
            kind="line"
            format={span}
          />
        </div>
        <div class="card chart">
          <div class="chart-head">
            <h3>Cost</h3>
            <span class="muted">{dollars(cost, true)} by list prices</span>
          </div>
          <Chart
            label={`Cost: ${dollars(cost)}`}
            times={times}
            lines={lines.cost}
            kind="bars"
            format={roughDollars}
            least={10_000}
          />
        </div>
      </div>
    </Section>
  );
}

/** Bars of failures are drawn over those of all requests, and output over input. */
const linesOf = (points: readonly SeriesPoint[]) => ({
  requests: [
    { values: points.map((point) => point.requests), colour: "c1" as const },
    { values: points.map((point) => point.errors || null), colour: "c4" as const },
  ],
  tokens: [
    { values: points.map((point) => point.inputTokens + point.outputTokens), colour: "c1" as const },
    { values: points.map((point) => point.outputTokens || null), colour: "c2" as const },
  ],
  first: [{ values: points.map((point) => point.firstTokenMs), colour: "c3" as const }],
  cost: [{ values: points.map((point) => point.costMicros), colour: "c2" as const }],
});

/** The mean over all requests, and not over the parts. */
function meanOf(points: readonly SeriesPoint[]): number | null {
  const known = points.filter(({ firstTokenMs }) => firstTokenMs !== null);
  const requests = known.reduce((sum, point) => sum + point.requests, 0);
  return requests === 0
    ? null
    : known.reduce((sum, { firstTokenMs, requests: count }) => sum + (firstTokenMs ?? 0) * count, 0) / requests;
}
