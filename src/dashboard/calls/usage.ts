import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../../core/errors.ts";
import { listConversations, listTurns } from "../../usage/queries/conversations.ts";
import { readSeries, type SeriesPoint, type SeriesRange, seriesMoments } from "../../usage/queries/usage-series.ts";
import type { Call } from "../call.ts";

/** A page of the list stays below 200 KB: a row has some 330 bytes, and at most 600. */
const CONVERSATIONS = 300;
/** A turn with 50 tool calls has some 10 KB. */
const TURNS = 15;

/** How long a series is shown before it is read again. Longer ranges cost more and change less. */
const FRESH_MS: Readonly<Record<SeriesRange, number>> = { hour: 2000, day: 30_000, month: 300_000 };

/** The calls that read the usage record: series for charts, conversations and their turns. */
export function usageCalls(connection: DatabaseSync, now: () => number = Date.now): readonly Call[] {
  const series = new Map<SeriesRange, { readonly readAt: number; readonly points: Promise<readonly SeriesPoint[]> }>();
  return [
    {
      method: "GET",
      path: "/series",
      async handle({ query }) {
        const range = rangeOf(query.get("range"));
        let kept = series.get(range);
        if (!kept || now() - kept.readAt > FRESH_MS[range]) {
          kept = { readAt: now(), points: readSeries(connection, seriesMoments(range, now())) };
          series.set(range, kept);
        }
        return { range, points: await kept.points };
      },
    },
    {
      method: "GET",
      path: "/conversations",
      handle: ({ query }) => listConversations(connection, CONVERSATIONS, before(query)),
    },
    {
      method: "GET",
      path: "/conversations/{id}",
      handle({ path: { id = "" }, query }) {
        const page = listTurns(connection, id, TURNS, before(query));
        if (page.turns.length > 0 || query.has("before")) return page;
        throw new ExcursorError("unknown_conversation");
      },
    },
  ];
}

function before(query: URLSearchParams): number | undefined {
  const text = query.get("before");
  if (text === null) return undefined;
  const key = Number(text);
  if (Number.isSafeInteger(key) && key > 0) return key;
  throw new ExcursorError("invalid-request", "before: expected `next` of the page before.", { field: "before" });
}

function rangeOf(text: string | null): SeriesRange {
  if (text === "hour" || text === "day" || text === "month") return text;
  throw new ExcursorError("invalid-request", "range: expected hour, day or month.", { field: "range" });
}
