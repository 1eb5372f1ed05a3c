import { useMemo, useState } from "preact/hooks";
import type { LiveRow, ParkedRow, RecentRow } from "../../src/dashboard/messages.ts";
import { now } from "../feed.ts";
import { bytes, dollars, moment, NONE, short, span, whole } from "../format.ts";
import { DemoButton } from "../parts/demo-button.tsx";
import { LiftButton } from "../parts/lift-button.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { RunTag, StatusTag } from "../parts/status-tag.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { remove } from "../session.ts";
import { NowCharts } from "./now-charts.tsx";
import type { Page } from "./page.ts";

export const nowPage: Page = { path: "/ui", title: "Now", icon: "pulse", Content: NowContent };

function NowContent() {
  const message = now.value;
  return (
    <>
      <div class="page-head">
        <h1>Now</h1>
        <DemoButton />
      </div>
      <dl class="tiles">
        <Tile name="Requests under way" value={whole(message?.requestCount)} />
        <Tile name="Streams" value={whole(message?.streams)} />
        <Tile name="Speed" value={message ? speedOf(message.requests) : NONE} unit="tokens/s" />
        <Tile
          name="Parked runs"
          value={whole(message?.parkedCount)}
          unit={message && message.parkedCount > 0 ? bytes(message.parkedBytes) : undefined}
        />
      </dl>
      <NowCharts />
      <Live rows={message?.requests ?? []} count={message?.requestCount ?? 0} />
      <Parked rows={message?.parked ?? []} count={message?.parkedCount ?? 0} />
      <Section title="Recent requests">
        <Table
          label="Recent requests"
          columns={RECENT}
          rows={message?.recent ?? []}
          keyOf={({ id, at }) => `${at} ${id}`}
          empty="No request has ended since the gateway started. Send one with: excursor chat hello"
        />
      </Section>
    </>
  );
}

const Tile = ({ name, value, unit }: { name: string; value: string; unit?: string | undefined }) => (
  <div class="tile">
    <dt>{name}</dt>
    <dd>
      {value} {unit && <small>{unit}</small>}
    </dd>
  </div>
);

/** Output tokens for each second since the first token; by estimate. */
function rate({ outputTokens, firstTokenMs, elapsedMs }: LiveRow): number {
  if (outputTokens === null || firstTokenMs === null) return 0;
  return outputTokens / Math.max(0.25, (elapsedMs - firstTokenMs) / 1000);
}

const speedOf = (rows: readonly LiveRow[]): string => whole(Math.round(rows.reduce((sum, row) => sum + rate(row), 0)));

const PHASES: Readonly<Record<LiveRow["phase"], string>> = {
  gate: "arriving",
  parse: "reading",
  credential: "preparing",
  checkpoint: "finding the checkpoint",
  open: "connecting",
  "first-frame": "waiting for the model",
  model: "answering",
  tools: "running tools",
  park: "waiting for results",
};

const LIVE: readonly Column<LiveRow>[] = [
  { title: "Client", cell: ({ client }) => client },
  { title: "Model", cell: ({ model }) => <span class="mono">{model || NONE}</span> },
  {
    title: "Phase",
    cell: ({ phase, run }) => (
      <>
        {PHASES[phase]} {run !== "fresh" && <RunTag run={run} />}
      </>
    ),
  },
  { title: "Key", isWide: true, cell: ({ key }) => key },
  { title: "First token", isNumber: true, isWide: true, cell: ({ firstTokenMs }) => span(firstTokenMs) },
  { title: "Tokens", isNumber: true, cell: ({ outputTokens }) => short(outputTokens) },
  { title: "Tokens/s", isNumber: true, isWide: true, cell: (row) => whole(Math.round(rate(row))) },
  { title: "Time", isNumber: true, cell: ({ elapsedMs }) => span(elapsedMs) },
];

const Live = ({ rows, count }: { readonly rows: readonly LiveRow[]; readonly count: number }) => (
  <Section title="Under way" note={count > rows.length ? `the newest ${rows.length} of ${count}` : undefined}>
    <Table label="Requests under way" columns={LIVE} rows={rows} keyOf={({ id }) => id} empty="Nothing is under way." />
  </Section>
);

function Parked({ rows, count }: { readonly rows: readonly ParkedRow[]; readonly count: number }) {
  const [error, setError] = useState<unknown>();
  const columns = useMemo<readonly Column<ParkedRow>[]>(
    () => [
      { title: "Waits for", cell: ({ tools }) => <span class="mono">{tools.join(", ") || NONE}</span> },
      { title: "Model", cell: ({ model }) => <span class="mono">{model}</span> },
      { title: "Key", isWide: true, cell: ({ key }) => key },
      { title: "Memory", isNumber: true, isWide: true, cell: (row) => bytes(row.bytes) },
      { title: "Age", isNumber: true, cell: ({ waitedS }) => span(waitedS * 1000) },
      {
        title: "Action",
        isNumber: true,
        cell: ({ id, tools, key, isPaused }) => (
          <span class="actions">
            {isPaused && <LiftButton name={key} onError={setError} />}
            <button
              type="button"
              class="danger small"
              aria-label={`Drop the run that waits for ${tools.join(", ")}`}
              onClick={() => {
                setError(undefined);
                remove(`/runs/${encodeURIComponent(id)}`).catch(setError);
              }}
            >
              Drop
            </button>
          </span>
        ),
      },
    ],
    [],
  );
  return (
    <Section
      title="Parked runs"
      note={count > rows.length ? `the oldest ${rows.length} of ${count}` : "wait for the results of their tool calls"}
    >
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Parked runs"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        empty="No run is parked. A run is parked when the model has called tools of the client."
      />
    </Section>
  );
}

const RECENT: readonly Column<RecentRow>[] = [
  { title: "Ended", cell: ({ at, durationMs }) => moment(at + durationMs) },
  { title: "Status", cell: ({ status, error }) => <StatusTag status={status} error={error} /> },
  { title: "Client", isWide: true, cell: ({ client }) => client },
  {
    title: "Model",
    cell: ({ model, conversation }) =>
      conversation ? (
        <a class="mono" href={`/ui/conversations/${encodeURIComponent(conversation)}`}>
          {model || NONE}
        </a>
      ) : (
        <span class="mono">{model || NONE}</span>
      ),
  },
  { title: "Run", isWide: true, cell: ({ run }) => <RunTag run={run} /> },
  { title: "Key", isWide: true, cell: ({ key }) => key },
  { title: "Input", isNumber: true, isWide: true, cell: ({ inputTokens }) => <Tokens count={inputTokens} /> },
  { title: "Output", isNumber: true, isWide: true, cell: ({ outputTokens }) => <Tokens count={outputTokens} /> },
  { title: "First token", isNumber: true, isWide: true, cell: ({ firstTokenMs }) => span(firstTokenMs) },
  { title: "Duration", isNumber: true, cell: ({ durationMs }) => span(durationMs) },
  { title: "Cost", isNumber: true, cell: ({ costMicros }) => dollars(costMicros) },
];
