import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { OpenPrompts, OwnerPrompt } from "../../core/owner-prompts.ts";
import type { ServerView } from "../../server/live-requests.ts";
import type { RecentRequests } from "../../usage/record/recent-requests.ts";
import type { Call } from "../call.ts";
import type { LiveRow, NowMessage, ParkedRow, PromptRow, RecentRow } from "../messages.ts";

export interface NowSources {
  readonly server: Pick<ServerView, "requests" | "streams">;
  readonly engine: Pick<Engine, "parkedRuns" | "dropRun">;
  readonly recent: RecentRequests;
  /** Returns the name of a principal's key, for people. */
  readonly keyName: (principalId: string) => string;
  /** Questions of agents to the owner. */
  readonly prompts: OpenPrompts;
  readonly lastLogLine: () => number;
}

const MAX_ROWS = 50;
const MAX_TOOLS = 8;
const MAX_TEXT = 80;
const MAX_PROMPTS = 5;

/** Returns the message of the feed. Its size is bounded: 50 rows of each kind, and short texts. */
export function nowMessage({ server, engine, recent, keyName, prompts, lastLogLine }: NowSources): NowMessage {
  const requests = server.requests();
  const parked = engine.parkedRuns();
  return {
    requests: requests.slice(-MAX_ROWS).reverse().map(liveRow),
    requestCount: requests.length,
    streams: server.streams,
    parked: parked.slice(0, MAX_ROWS).map((run) => parkedRow(run, keyName)),
    parkedCount: parked.length,
    parkedBytes: parked.reduce((sum, { bytes }) => sum + bytes, 0),
    recent: recent.list.slice(0, MAX_ROWS).map(recentRow),
    prompts: prompts.list.slice(0, MAX_PROMPTS).map(promptRow),
    logLine: lastLogLine(),
  };
}

/** The calls of the page Now. */
export const nowCalls = ({ engine }: Pick<NowSources, "engine">): readonly Call[] => [
  {
    method: "DELETE",
    path: "/runs/{id}",
    handle({ path: { id = "" } }) {
      if (engine.dropRun(id)) return {};
      throw new ExcursorError("unknown_run", [], { hint: null });
    },
  },
];

const cut = (text: string): string => text.slice(0, MAX_TEXT);

const promptRow = ({ from, question }: OwnerPrompt): PromptRow => ({ id: question.id, from: cut(from) });

const liveRow = (request: ReturnType<ServerView["requests"]>[number]): LiveRow => ({
  id: request.id,
  key: cut(request.keyName),
  client: cut(request.client),
  model: cut(request.model ?? ""),
  route: cut(request.route),
  phase: request.phase,
  run: request.run,
  elapsedMs: Math.round(request.elapsedMs),
  firstTokenMs: request.firstTokenMs ?? null,
  outputTokens: request.outputTokens ?? null,
});

const parkedRow = (run: ReturnType<Engine["parkedRuns"]>[number], keyName: NowSources["keyName"]): ParkedRow => ({
  id: run.id,
  key: cut(keyName(run.principalId)),
  model: cut(run.model),
  tools: run.tools.slice(0, MAX_TOOLS).map(cut),
  bytes: run.bytes,
  waitedS: Math.floor(run.waitedMs / 1000),
  isPaused: run.isPaused,
});

const recentRow = (record: RecentRequests["list"][number]): RecentRow => ({
  id: record.id,
  at: record.startedAt,
  key: cut(record.keyName),
  client: cut(record.client),
  model: cut(record.modelServed ?? record.modelAsked ?? ""),
  conversation: record.conversation ?? null,
  status: record.status,
  error: record.errorCode === undefined ? null : cut(record.errorCode),
  run: record.run?.type ?? null,
  durationMs: record.durationMs,
  firstTokenMs: record.firstTokenMs ?? null,
  inputTokens: record.usage?.inputTokens ?? null,
  outputTokens: record.usage?.outputTokens ?? null,
  cachedTokens: record.usage?.cachedTokens ?? null,
  costMicros: record.cost?.micros ?? null,
});
