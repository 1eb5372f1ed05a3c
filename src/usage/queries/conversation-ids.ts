import type { DatabaseSync } from "node:sqlite";
import { uuidOf } from "../reports/usage-export.ts";

/** The names under which a conversation is known elsewhere. */
export interface ConversationIds {
  /** Of the client's requests. */
  readonly requests: ReadonlySet<string>;
  /** Cursor's ids. */
  readonly upstream: ReadonlySet<string>;
}

const MAX_IDS = 5000;

export function conversationIds(connection: DatabaseSync, conversation: string): ConversationIds {
  const all = (sql: string) => connection.prepare(`${sql} LIMIT ${MAX_IDS}`).all(conversation);
  const requests = all("SELECT id FROM request WHERE conversation = ?").map(({ id }) => String(id));
  const upstream = all(
    "SELECT DISTINCT upstream_conversation AS id FROM run WHERE conversation = ? AND upstream_conversation IS NOT NULL",
  ).map(({ id }) => (id instanceof Uint8Array ? uuidOf(id) : String(id)));
  return { requests: new Set(requests), upstream: new Set(upstream) };
}
