import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CapturedCall, CapturedReply } from "../../src/dashboard/captured-messages.ts";
import type { RecordedCall, RecordedTurn, TurnPage } from "../../src/usage/queries/conversations.ts";
import { CapturedTurn } from "../captured/captured-turn.tsx";
import { bytes, dollars, moment, NONE, short, span } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { RunTag, StatusTag } from "../parts/status-tag.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tokens } from "../parts/tokens.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { Waterfall } from "../parts/waterfall.tsx";
import { get } from "../session.ts";

/** One conversation, its newest turn first. */
export function ConversationDetail({ id }: { readonly id: string }) {
  const [pages, setPages] = useState<readonly TurnPage[]>([]);
  const [error, setError] = useState<unknown>();
  const isLoading = useRef(false);
  const load = (before?: number) => {
    if (isLoading.current) return;
    isLoading.current = true;
    setError(undefined);
    get<TurnPage>(`/conversations/${encodeURIComponent(id)}${before === undefined ? "" : `?before=${before}`}`)
      .then((page) => setPages((loaded) => [...loaded, page]), setError)
      .finally(() => {
        isLoading.current = false;
      });
  };
  useEffect(() => load(), []);
  const { value: captured } = useLoaded<CapturedReply>(`/captured/${encodeURIComponent(id)}`);
  const turns = pages.flatMap((page) => page.turns);
  const next = pages.at(-1)?.next ?? null;
  const [latest] = turns;
  return (
    <>
      <div class="page-head">
        <h1>Conversation</h1>
        <code class="muted">{id}</code>
        <div class="actions">
          <a href="/ui/conversations">All conversations</a>
        </div>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {latest && (
        <p class="muted">
          {latest.client} · <span class="mono">{latest.model}</span> · key {latest.keyName} · the newest turn comes
          first
        </p>
      )}
      {turns.map((turn) => (
        <TurnCard key={`${turn.startedAt} ${turn.requestId}`} turn={turn} captured={captured} />
      ))}
      {next !== null && (
        <p class="turn">
          <button type="button" onClick={() => load(next)}>
            Show earlier turns
          </button>
        </p>
      )}
    </>
  );
}

interface TurnCardProps {
  readonly turn: RecordedTurn;
  readonly captured: CapturedReply | undefined;
}

function TurnCard({ turn, captured }: TurnCardProps) {
  return (
    <article class="card turn">
      <div class="turn-head">
        <h2>{moment(turn.startedAt)}</h2>
        <StatusTag status={turn.status} error={turn.error} />
        <RunTag run={turn.run} reason={turn.runReason} />
        {turn.error !== null && <span class="bad-text">{turn.error}</span>}
        <span class="muted end">
          <span class="mono">{turn.model}</span> by {turn.driver ?? NONE}, {span(turn.durationMs)}
        </span>
      </div>
      <Waterfall phases={turn.phases} />
      <dl class="facts">
        <Fact name="First token" value={span(turn.firstTokenMs)} />
        <Fact name="Input" value={<Tokens count={turn.inputTokens} />} />
        <Fact name="Output" value={<Tokens count={turn.outputTokens} />} />
        {turn.reasoningTokens ? <Fact name="Thinking" value={short(turn.reasoningTokens)} /> : null}
        <Fact name="Counted by" value={ORIGINS[turn.origin ?? ""] ?? NONE} />
        <Fact name="Cache" value={cacheOf(turn)} />
        <Fact name="Cost" value={dollars(turn.costMicros, turn.isCostEstimated)} title={turn.costSource ?? undefined} />
      </dl>
      {turn.toolCalls.length > 0 && (
        <div class="turn">
          <Table
            label="Tool calls"
            columns={CALLS}
            rows={turn.toolCalls}
            keyOf={(call) => `${call.askedAt} ${call.tool} ${turn.toolCalls.indexOf(call)}`}
            empty=""
          />
        </div>
      )}
      {captured && captured.calls.length > 0 && <CapturedTurn {...capturedOf(turn, captured)} />}
    </article>
  );
}

/** The clocks of the capture and of the usage record differ by so much. */
const SLACK_MS = 4;

/** A run that waits for a tool belongs to the turn that began it. */
function capturedOf({ requestId, startedAt, durationMs }: RecordedTurn, { calls }: CapturedReply) {
  const isWithin = ({ at }: CapturedCall) => at >= startedAt - SLACK_MS && at <= startedAt + durationMs + SLACK_MS;
  const client = calls.filter((call) => call.wire === "client" && call.requestId === requestId);
  const upstream = calls.filter((call) => call.wire === "upstream" && isWithin(call));
  // Of several attempts at an upstream, the last one has the answer.
  const said = client.find(hasMessages) ?? upstream.findLast(hasMessages);
  const previous =
    said && calls.findLast((call) => call.wire === said.wire && hasMessages(call) && call.call < said.call);
  return { said, previous, client, upstream };
}

/** Messages are read in public APIs, not in Cursor's protocol. */
const hasMessages = ({ path }: CapturedCall): boolean => !/^\/(?:agent|aiserver)\.v1\./.test(path);

interface FactProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly title?: string | undefined;
}

const Fact = ({ name, value, title }: FactProps) => (
  <div title={title}>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

const ORIGINS: Readonly<Record<string, string>> = {
  upstream: "the upstream",
  running: "the upstream, while it answered",
  estimate: "our estimate",
};

const REASONS: Readonly<Record<string, string>> = {
  model: "another model",
  tools: "other tools",
  instructions: "other instructions",
  edited: "the history was edited",
  expired: "more than five minutes later",
  "new-run": "the run was replayed",
  unknown: "for an unknown reason",
};

/** How much came from the prompt cache, how much could have, and why it was less. */
function cacheOf({ cachedTokens, cachePossible, cacheReason }: RecordedTurn): string {
  if (cachedTokens === null) return NONE;
  const read = `${short(cachedTokens)} read`;
  if (cachePossible === null || cachePossible === 0) return read;
  const lost = cacheReason === null ? "" : `, lost: ${REASONS[cacheReason] ?? cacheReason}`;
  return `${read} of ${short(cachePossible)} possible${lost}`;
}

const OUTCOMES: Readonly<Record<RecordedCall["outcome"], string>> = {
  answered: "ok",
  failed: "bad",
  lost: "bad",
  replayed: "warn",
  expired: "warn",
};

const CALLS: readonly Column<RecordedCall>[] = [
  {
    title: "Tool",
    cell: ({ tool, server }) => <span class="mono">{server === null ? tool : `${server} / ${tool}`}</span>,
  },
  {
    title: "Run by",
    cell: ({ ranBy }) => ({ client: "the client", native: "the client, for Cursor", hub: "the hub" })[ranBy],
  },
  { title: "Outcome", cell: ({ outcome }) => <span class={`tag ${OUTCOMES[outcome]}`}>{outcome}</span> },
  { title: "Result", isNumber: true, isWide: true, cell: (call) => (call.bytes === null ? NONE : bytes(call.bytes)) },
  {
    title: "Time",
    isNumber: true,
    cell: ({ askedAt, answeredAt }) => (answeredAt === null ? NONE : span(answeredAt - askedAt)),
  },
];
