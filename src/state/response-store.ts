import { createHash } from "node:crypto";
import { prepareResponseStatements } from "./response-statements.ts";
import { holderOf, MAX_PRINCIPALS, prepareShares } from "./shares.ts";
import type { StateDatabase } from "./state-database.ts";

export interface ResponseStoreOptions {
  /** Of all answers with their items together; see `ShareLimits`. */
  readonly maxBytes?: number;
  readonly maxResponses?: number;
  readonly maxPrincipals?: number;
  /** How long an answer is there after it was given, or last gone on from. */
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An answer as it is kept; `previousId` names the one before it in its conversation. */
interface KeptResponse {
  readonly id: string;
  readonly previousId: string | undefined;
  readonly body: string;
  readonly input: readonly KeptItem[];
  readonly output: readonly KeptItem[];
}

interface KeptItem {
  readonly id: string;
  readonly json: string;
}

/** Answers that outlive the process, each for its principal alone. Whoever holds the most makes room, with its oldest. */
export interface KeptResponses {
  put(principalId: string, response: KeptResponse): void;
  find(principalId: string, id: string): KeptResponse | undefined;
  conversation(principalId: string, id: string): readonly string[] | undefined;
  findItem(principalId: string, itemId: string): string | undefined;
  delete(principalId: string, id: string): boolean;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

export function createResponseStore(database: StateDatabase, options: ResponseStoreOptions = {}): KeptResponses {
  const { maxBytes = 128 * MiB, maxResponses = 5000, ttlMs = 30 * DAY_MS, now = Date.now } = options;
  const limits = { maxBytes, maxItems: maxResponses, maxPrincipals: options.maxPrincipals ?? MAX_PRINCIPALS };
  const sql = prepareResponseStatements(database.connection);
  const shares = prepareShares(database.connection, { name: "response", order: "key" }, limits);

  const put = (principal: Uint8Array, { id, previousId, body, input, output }: KeptResponse): void => {
    const bytes = [...input, ...output].reduce((sum, { json }) => sum + json.length, body.length);
    const putAt = now();
    sql.deleteUntil(putAt - ttlMs);
    shares.pullBackFuture(putAt);
    if (!shares.canHold(principal, bytes)) return;
    const key = sql.insert({ principal, id, previous: previousId ?? null, body, bytes, putAt });
    [...input, ...output].forEach((item, position) => {
      sql.insertItem(key, position, position >= input.length, item.id, item.json);
    });
    // A conversation that goes on is kept whole: without its beginning, its end is of no use.
    if (previousId !== undefined) sql.touchConversation(principal, previousId, putAt);
    shares.makeRoom(principal);
  };

  const find = (principal: Uint8Array, id: string): KeptResponse | undefined => {
    const row = sql.find(principal, id, now() - ttlMs);
    if (!row) return undefined;
    const items = sql.itemsOf(row.key);
    const those = (isOutput: number) =>
      items.flatMap((item) => (item.is_output === isOutput ? [{ id: item.id, json: item.item }] : []));
    return { id, previousId: row.previous ?? undefined, body: row.body, input: those(0), output: those(1) };
  };

  return {
    put: (principalId, response) => database.write(() => put(holder(principalId), response), undefined),
    find: (principalId, id) => database.read(() => find(holder(principalId), id), undefined),
    conversation: (principalId, id) =>
      database.read(() => {
        const keys = sql.conversation(holder(principalId), id, now() - ttlMs);
        return keys?.flatMap((key) => sql.itemsOf(key).map(({ item }) => item));
      }, undefined),
    findItem: (principalId, itemId) =>
      database.read(() => sql.findItem(holder(principalId), itemId, now() - ttlMs), undefined),
    delete: (principalId, id) => database.write(() => sql.delete(holder(principalId), id), false),
  };
}

const holder = (principalId: string): Uint8Array => holderOf(principalId, digest(principalId));

const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();
