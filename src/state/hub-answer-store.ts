import { createHash } from "node:crypto";
import type { DoneReason } from "../core/events.ts";
import type { AnswerPlace, HubAnswers, HubRound, KeptAnswer } from "../core/hub/hub-answers.ts";
import type { AssistantPart, ToolMessage } from "../core/turn.ts";
import { type AnswerRow, prepareHubAnswerStatements } from "./hub-answer-statements.ts";
import { sealRound } from "./seal.ts";
import { GUEST_PART, holderOf, isGuestHolder } from "./shares.ts";
import type { StateDatabase } from "./state-database.ts";

export interface HubAnswerStoreOptions {
  /** Of one principal. */
  readonly maxBytes?: number;
  readonly maxAnswers?: number;
  /** Of the owner and the keys; the one with the most makes room. Callers with a token have half as much of their own. */
  readonly maxTotalBytes?: number;
  /** Of one result; of a larger one it is only kept that there was one. */
  readonly maxResultBytes?: number;
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** Answers of the hub in the state file; the oldest of a principal makes room for its newest. */
export function createHubAnswerStore(database: StateDatabase, options: HubAnswerStoreOptions = {}): HubAnswers {
  const { maxBytes = 32 * MiB, maxAnswers = 1000, maxTotalBytes = 128 * MiB, maxResultBytes = MiB } = options;
  const { ttlMs = 7 * DAY_MS, now = Date.now } = options;
  const sql = prepareHubAnswerStatements(database.connection);

  const read = (principal: Uint8Array, row: AnswerRow): KeptAnswer | undefined => {
    const rows = sql.roundsOf(row.key);
    const isSound = rows.every(
      ({ position, body, seal }, at) => position === at && sealRound(principal, row.id, at, body) === seal,
    );
    if (!isSound) {
      sql.delete(row.key);
      return undefined;
    }
    return {
      id: row.id,
      askedKey: row.asked,
      rounds: rows.map(({ body }) => parseRound(body)),
      end: row.reason === null ? undefined : { text: row.text ?? "", reason: row.reason as DoneReason },
      isSettled: row.is_settled === 1,
      ageMs: Math.max(0, now() - row.put_at),
    };
  };

  const makeRoom = (principal: Uint8Array): void => {
    for (let usage = sql.usageOf(principal); usage.bytes > maxBytes || usage.count > maxAnswers; ) {
      if (!sql.deleteOldest(principal)) break;
      usage = sql.usageOf(principal);
    }
    const room = isGuestHolder(principal) ? "guest" : "known";
    const maxRoomBytes = room === "guest" ? maxTotalBytes * GUEST_PART : maxTotalBytes;
    while (sql.allBytes(room) > maxRoomBytes) {
      const largest = sql.largestPrincipal(room);
      if (!largest || !sql.deleteOldest(largest)) break;
    }
  };

  const put = ({ principalId, id, askedKey }: AnswerPlace, write: (key: number, principal: Uint8Array) => void) => {
    database.write(() => {
      const principal = holder(principalId);
      const putAt = now();
      sql.deleteUntil(putAt - ttlMs);
      sql.pullBackFuture(putAt);
      write(sql.put(principal, id, askedKey, putAt), principal);
      makeRoom(principal);
    }, undefined);
  };

  return {
    findAsked: (principalId, askedKey) =>
      database.read(() => {
        const principal = holder(principalId);
        const rows = sql.byRequest(principal, askedKey, now() - ttlMs);
        return rows.flatMap((row) => read(principal, row) ?? []);
      }, [] as KeptAnswer[]),
    findAnswered: (principalId, historyKeys) =>
      database.read(() => {
        const principal = holder(principalId);
        const rows = sql.byHistory(principal, historyKeys, now() - ttlMs);
        const found = rows.flatMap((row) => {
          const kept = read(principal, row);
          return kept && row.answered !== null ? [[row.answered, kept] as const] : [];
        });
        return new Map(found);
      }, new Map<string, KeptAnswer>()),
    putRound: (place, position, round) =>
      put(place, (key, principal) => {
        const body = formatRound(round, maxResultBytes);
        sql.putRound(key, position, body, sealRound(principal, place.id, position, body));
      }),
    putEnd: (place, { text, reason }, historyKey) => put(place, (key) => sql.putEnd(key, text, reason, historyKey)),
    settle: ({ principalId, id }) => database.write(() => sql.settle(holder(principalId), id), undefined),
  };
}

function formatRound({ said, results }: HubRound, maxResultBytes: number): string {
  const content = said.content.filter(({ type }) => type !== "thinking");
  return JSON.stringify({ said: content, results: results.map((result) => bounded(result, maxResultBytes)) });
}

/** A result as JSON can have it. */
function bounded({ callId, content, isError }: ToolMessage, maxBytes: number): object {
  const bytes = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : part.data.length), 0);
  if (bytes > maxBytes) {
    const text = `The call was made. Its result of ${bytes} bytes was too large to be kept, and the call was not made again.`;
    return { callId, isError, content: [{ type: "text", text }] };
  }
  const parts = content.map((part) =>
    part.type === "image" ? { ...part, data: Buffer.from(part.data).toString("base64") } : part,
  );
  return { callId, isError, content: parts };
}

interface StoredRound {
  readonly said: readonly AssistantPart[];
  readonly results: readonly {
    readonly callId: string;
    readonly isError: boolean;
    readonly content: readonly (
      | { readonly type: "text"; readonly text: string }
      | { readonly type: "image"; readonly mediaType: string; readonly data: string }
    )[];
  }[];
}

function parseRound(body: string): HubRound {
  const { said, results } = JSON.parse(body) as StoredRound;
  return {
    said: { role: "assistant", content: said },
    results: results.map(({ callId, isError, content }) => ({
      role: "tool",
      callId,
      isError,
      isHubs: true,
      content: content.map((part) =>
        part.type === "image" ? { ...part, data: new Uint8Array(Buffer.from(part.data, "base64")) } : part,
      ),
    })),
  };
}

const holder = (principalId: string): Uint8Array =>
  holderOf(principalId, createHash("sha256").update(principalId).digest());
