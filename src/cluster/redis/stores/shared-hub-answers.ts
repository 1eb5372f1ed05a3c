import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AtOnce } from "../../../core/awaitable.ts";
import type { DoneReason } from "../../../core/events.ts";
import {
  type AnswerPlace,
  type HubAnswers,
  type HubRound,
  isComplete,
  type KeptAnswer,
} from "../../../core/hub/hub-answers.ts";
import { formatRound, parseRound } from "../../../core/hub/round-json.ts";
import { within } from "../../../core/within.ts";
import { askAgain, type RedisClient } from "../redis-link.ts";
import { inBinary } from "../redis-script.ts";
import {
  DAY_MS,
  digest,
  MiB,
  type NewValue,
  type PutOutcome,
  type RoomLimits,
  type StoreParts,
  ValueRoom,
} from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 7 * DAY_MS };

/** Answers to one request that are found, at most. */
const MAX_FOUND = 8;

/** Histories that are asked for, at most: the last ones. */
const MAX_HISTORIES = 500;

/**
 * How long a process that makes answers counts as alive after its last sign, how often it gives one, and how often it is looked
 * for the next one: one that was killed has given its last.
 */
const ALIVE_MS = 5000;
const SIGN_MS = 1000;
const LOOK_MS = 100;

/**
 * Answers of the hub of all gateways. They are written here at once and to Redis in the background, but for the start of a
 * round: Redis has it before a call is made, from one process only. What Redis does not have, or has less of, is read here.
 *
 * An answer is one hash: the process that makes it, its rounds (`r0`, …) and who began each (`c0`, …), and its end.
 */
export function createSharedHubAnswers(
  { link, writes, scope, redisMs, limits }: StoreParts,
  local: AtOnce<HubAnswers>,
): HubAnswers {
  const room = new ValueRoom(link, [scope, "hub"], { ...LIMITS, ...limits });
  const self = randomUUID();
  const making = new Set<string>();
  let signs: NodeJS.Timeout | undefined;
  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const askedKey = (principalId: string, asked: string) => room.key(principalId, "asked", digest(asked));
  const historyKey = (principalId: string, history: string) => room.key(principalId, "history", digest(history));
  const aliveKey = (process: string) => link.key("alive", process);
  let signed = 0;
  const sign = (client: RedisClient) =>
    client.set(aliveKey(self), String(++signed), { expiration: { type: "PX", value: ALIVE_MS } });

  const begin = (key: string): void => {
    making.add(key);
    signs ??= setInterval(() => {
      void link.ask<unknown>(sign, () => undefined);
    }, SIGN_MS).unref();
  };

  const end = (key: string): void => {
    making.delete(key);
    if (making.size > 0) return;
    clearInterval(signs);
    signs = undefined;
  };

  const put = async (
    client: RedisClient,
    { principalId, id, askedKey: asked }: AnswerPlace,
    value: Pick<NewValue, "fields" | "pointers" | "claim">,
  ): Promise<PutOutcome> => {
    const key = keyOf(principalId, id);
    const order = askedKey(principalId, asked);
    const fields = [["id", id] as const, ["asked", asked] as const, ["at", String(Date.now())] as const];
    const [outcome] = await Promise.all([
      room.put(client, { ...value, principalId, key, fields: [...fields, ...value.fields] }),
      client.zAdd(order, { score: Date.now(), value: key }),
      client.zRemRangeByRank(order, 0, -1 - MAX_FOUND),
      client.pExpire(order, room.ttlMs),
    ]);
    return outcome;
  };

  const roundField = ({ principalId, id }: AnswerPlace, position: number, json: string) => {
    const name = `r${position}`;
    return [name, room.seal(`${keyOf(principalId, id)} ${name}`, json)] as const;
  };

  /** Undefined if it is gone, or damaged. */
  const readAnswer = (key: string, hash: Readonly<Record<string, Buffer>>): FoundAnswer | undefined => {
    const { id, asked, at, by } = hash;
    if (!id || !asked) return undefined;
    const rounds: HubRound[] = [];
    for (let position = 0; hash[`r${position}`]; position++) {
      const name = `r${position}`;
      const round = room.parse(room.open(`${key} ${name}`, hash[name]), parseRound);
      if (!round) return undefined;
      rounds.push(round);
    }
    const text = room.open(`${key} text`, hash["text"])?.toString();
    return {
      id: id.toString(),
      askedKey: asked.toString(),
      rounds,
      end: text === undefined ? undefined : { text, reason: String(hash["reason"]) as DoneReason },
      isSettled: hash["settled"] !== undefined,
      ageMs: Math.max(0, Date.now() - Number(at)),
      by: by?.toString() ?? "",
      isEnding: hash["ending"]?.toString() === "1",
    };
  };

  /** Reads answers, and of those that other processes make the last sign of their process. */
  const readAll = async (client: RedisClient, keys: readonly (string | null)[]) => {
    const read = async (key: string | null): Promise<FoundAnswer | undefined> => {
      const kept = key === null ? undefined : readAnswer(key, await inBinary(client).hGetAll(key));
      if (!kept || kept.by === "" || kept.by === self || isComplete(kept)) return kept;
      const last = await client.get(aliveKey(kept.by));
      return last === null ? kept : { ...kept, sign: last, elsewhere: kept.isEnding ? "ending" : "held" };
    };
    return Promise.all(keys.map(read));
  };

  /** Reads answers until it is known of each process that makes one whether it lives. Returns why there is no reply. */
  const find = async (keysOf: (client: RedisClient) => Promise<readonly (string | null)[]>) => {
    const first = new Map<string, string>();
    for (;;) {
      const found = await askAgain(link, async (client) => readAll(client, await keysOf(client)));
      if (typeof found === "string") return found;
      let isClear = true;
      for (const { by, sign: last } of found.filter((kept) => kept !== undefined)) {
        if (last === undefined) continue;
        if (!first.has(by)) first.set(by, last);
        isClear &&= first.get(by) !== last;
      }
      if (isClear) return found;
      await sleep(LOOK_MS);
    }
  };

  return {
    async findAsked(principalId, asked) {
      const own = local.findAsked(principalId, asked);
      const found = await find((client) =>
        client.zRange(askedKey(principalId, asked), 0, MAX_FOUND - 1, { REV: true }),
      );
      return typeof found === "string" ? own : merged(found, own);
    },
    async findAnswered(principalId, histories) {
      const own = new Map(local.findAnswered(principalId, histories));
      const asked = histories.slice(-MAX_HISTORIES);
      const keys = asked.map((history) => historyKey(principalId, history));
      const found = await find((client) => client.mGet(keys));
      if (typeof found === "string") return own;
      for (const [at, history] of asked.entries()) {
        const kept = found[at];
        const ours = own.get(history);
        if (kept && (!ours || progressOf(kept) > progressOf(ours))) own.set(history, kept);
      }
      return own;
    },
    async beginRound(place, position, round) {
      const json = formatRound(round);
      const key = keyOf(place.principalId, place.id);
      begin(key);
      const value = {
        fields: [["by", self] as const, ["ending", ""] as const, roundField(place, position, json)],
        claim: [`c${position}`, self] as const,
      };
      const write = (client: RedisClient) => Promise.all([put(client, place, value), sign(client)]);
      const outcome = await askAgain(link, write);
      if (typeof outcome !== "string" && outcome[0] === "taken") {
        end(key);
        return false;
      }
      local.putRound(place, position, round);
      // Redis gets the round when it is back.
      if (outcome === "away" || outcome === "late") void writes.add({ bytes: json.length, write });
      return true;
    },
    putRound(place, position, round) {
      local.putRound(place, position, round);
      const json = formatRound(round);
      void writes.add({
        bytes: json.length,
        write: (client) => put(client, place, { fields: [roundField(place, position, json)] }),
      });
    },
    async putEnd(place, { text, reason }, history) {
      void local.putEnd(place, { text, reason }, history);
      const { principalId, id } = place;
      const sealed = ["text", room.seal(`${keyOf(principalId, id)} text`, text)] as const;
      const value = { fields: [sealed, ["reason", reason] as const], pointers: [historyKey(principalId, history)] };
      const written = writes.add({ bytes: text.length, write: (client) => put(client, place, value) });
      await within(written, redisMs);
    },
    settle(place) {
      local.settle(place);
      void writes.add({ bytes: 0, write: (client) => put(client, place, { fields: [["settled", "1"]] }) });
    },
    leave(place, isOver) {
      const key = keyOf(place.principalId, place.id);
      if (!making.has(key)) return;
      if (isOver) end(key);
      const field = isOver ? (["by", ""] as const) : (["ending", "1"] as const);
      void writes.add({ bytes: 0, write: (client) => put(client, place, { fields: [field] }) });
    },
  };
}

interface FoundAnswer extends KeptAnswer {
  /** The process that makes it; empty if none does. */
  readonly by: string;
  readonly isEnding: boolean;
  /** The last sign of that process, if it is another one and its sign still counts. */
  readonly sign?: string;
}

/** Of each answer the copy with more in it, newest first. */
function merged(shared: readonly (KeptAnswer | undefined)[], own: readonly KeptAnswer[]): readonly KeptAnswer[] {
  const byId = new Map<string, KeptAnswer>();
  for (const kept of [...shared, ...own]) {
    if (!kept) continue;
    const known = byId.get(kept.id);
    const isMore = !known || progressOf(kept) > progressOf(known);
    if (isMore) byId.set(kept.id, { ...kept, elsewhere: (known ?? kept).elsewhere });
  }
  return [...byId.values()].sort((one, other) => one.ageMs - other.ageMs);
}

/** Counts what an answer has: it only grows. */
const progressOf = ({ rounds, end, isSettled }: KeptAnswer): number =>
  rounds.reduce((sum, { results }) => sum + 1 + results.length, 0) + (end ? 1 : 0) + (isSettled ? 1 : 0);
