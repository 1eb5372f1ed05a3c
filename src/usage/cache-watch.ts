import { hash } from "node:crypto";
import { BoundedMap } from "../core/bounded-map.ts";
import type { Turn } from "../core/turn.ts";
import type { CacheMiss, CacheTruth, RequestRecord } from "./record/records.ts";

/** What is remembered of the last turn of a conversation. */
interface LastTurn {
  readonly at: number;
  readonly model: string | undefined;
  readonly tools: string;
  readonly instructions: string;
  /** How many messages it had, and the key of all of them. */
  readonly messages: number;
  readonly historyKey: string;
  /** What the model had read and written by then. */
  readonly tokens: number;
}

/** Upstreams keep a prompt for about five minutes after its last use. */
const WINDOW_MS = 5 * 60_000;
const MAX_CONVERSATIONS = 10_000;
/** Upstreams cache whole blocks, so a small rest is never a hit. */
const HIT_PART = 0.8;

/**
 * Finds out how much of each turn could have come from the upstream's prompt cache, and why less did. It remembers the
 * last turn of recent conversations as digests, in memory only.
 */
export class CacheWatch {
  readonly #last = new BoundedMap<string, LastTurn>(MAX_CONVERSATIONS);

  /**
   * Returns a record with its cache truth, if the upstream has counted its tokens. `keys` are the history keys of the turn's
   * messages; more of them do not matter.
   */
  addCache(record: RequestRecord, turn: Turn | undefined, keys: readonly string[] | undefined): RequestRecord {
    const { conversation, usage, usageOrigin, startedAt } = record;
    if (!turn || !keys || !usage || conversation === undefined) return record;
    const before = this.#last.get(conversation);
    const current: LastTurn = {
      at: startedAt + record.durationMs,
      model: record.modelServed,
      tools: digestOf(turn.tools),
      instructions: turn.system === "" ? "" : digest(turn.system),
      messages: turn.messages.length,
      historyKey: keys[turn.messages.length] ?? "",
      tokens: Math.max(0, usage.inputTokens + usage.outputTokens),
    };
    this.#last.set(conversation, current);
    if (usageOrigin !== "upstream") return record;
    const possibleTokens = before ? Math.min(before.tokens, Math.max(0, usage.inputTokens)) : 0;
    const actualTokens = Math.max(0, usage.cachedTokens);
    const isHit = !before || actualTokens >= possibleTokens * HIT_PART;
    const reason = isHit ? undefined : reasonFor(before, current, keys, record);
    return { ...record, cache: { possibleTokens, actualTokens, reason } satisfies CacheTruth };
  }
}

function reasonFor(before: LastTurn, now: LastTurn, keys: readonly string[], record: RequestRecord): CacheMiss {
  if (now.model !== before.model) return "model";
  if (now.tools !== before.tools) return "tools";
  if (now.instructions !== before.instructions) return "instructions";
  if (keys[before.messages] !== before.historyKey) return "edited";
  if (record.startedAt - before.at > WINDOW_MS) return "expired";
  return record.run?.type === "replayed" ? "new-run" : "unknown";
}

const digestOf = (tools: Turn["tools"]): string =>
  tools.length === 0
    ? ""
    : digest(JSON.stringify(tools.map(({ name, description, schema }) => [name, description, schema])));

const digest = (text: string): string => hash("sha256", text, "base64url");
