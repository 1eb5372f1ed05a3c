import { setTimeout as sleep } from "node:timers/promises";
import type { AtOnce } from "../../../core/awaitable.ts";
import type { DoneReason } from "../../../core/events.ts";
import {
  type AnswerPlace,
  type HubAnswers,
  type HubRound,
  isComplete,
  type KeptAnswer,
  type RoundClaim,
} from "../../../core/hub/hub-answers.ts";
import { formatRound, parseRound } from "../../../core/hub/round-json.ts";
import type { AnswerCopies } from "../../copies/hub-copies.ts";
import type { Missed, RedisClient } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { HubLeases } from "./hub-leases.ts";
import type { StoreParts } from "./store-parts.ts";
import { DAY_MS, digest, MiB, type NewValue, PUT_VALUE, type RoomLimits, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 7 * DAY_MS };

/** Answers to one request that are found, at most. */
const MAX_FOUND = 8;

/** Histories that are asked for, at most: the last ones. */
const MAX_HISTORIES = 500;

/** An answer as scripts return it: its fields and its lease. */
const READ = `
local function read(key) return { redis.call('HGETALL', key), redis.call('GET', key .. ':lease') or '' } end
local found = {}`;

/** KEYS: the answers to a request, by time. Returns the newest ones. */
const BY_REQUEST = new RedisScript(`${READ}
for at, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, ${MAX_FOUND - 1}, 'REV')) do found[at] = read(key) end
return found`);

/** KEYS: the answers to a request, by time. ARGV: the time, the answer, how long they live. */
const ADD_ASKED = new RedisScript(`
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, ${-1 - MAX_FOUND})
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`);

/** KEYS: pointers from histories to answers. Returns one for each. */
const BY_HISTORY = new RedisScript(`${READ}
for at, pointer in ipairs(KEYS) do
  local key = redis.call('GET', pointer)
  found[at] = key and read(key) or false
end
return found`);

/**
 * Functions to write a claimed round in the same step: KEYS and ARGV end with those of the request and of its answer (see
 * {@link ADD_ASKED} and {@link PUT_VALUE}).
 */
const WRITE_ROUND = `${PUT_VALUE}
local function from(list, first)
  local rest = {}
  for at = first, #list do rest[#rest + 1] = list[at] end
  return rest
end
local function writeRound(firstKey, firstGiven)
  local asked, now, key, ttl = KEYS[firstKey], ARGV[firstGiven], KEYS[firstKey + 1], ARGV[firstGiven + 1]
  putValue(from(KEYS, firstKey + 1), from(ARGV, firstGiven + 1))
  redis.call('ZADD', asked, now, key)
  redis.call('ZREMRANGEBYRANK', asked, 0, ${-1 - MAX_FOUND})
  redis.call('PEXPIRE', asked, ttl)
end`;

/** KEYS: the claim of a round, the round. ARGV: who claims it, for how long, the round. Returns whether it is theirs. */
const CLAIM = new RedisScript(`${WRITE_ROUND}
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
writeRound(2, 3)
return 1`);

/**
 * KEYS: the claim of a round, the lease, the round. ARGV: the node, how long the claim lasts, the lease, how long it lasts, the
 * field of the round, the round. A round that another node has written since the answer was read here is its round.
 */
const BEGIN = new RedisScript(`${WRITE_ROUND}
local lease = redis.call('GET', KEYS[2])
if lease and string.sub(lease, 1, #ARGV[1]) ~= ARGV[1] then return 'elsewhere' end
-- The lease is another one each time, so a claim of the same value is this one, whose reply was late.
local isOurs = redis.call('SET', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[1]) == ARGV[3]
if not isOurs and redis.call('HEXISTS', KEYS[4], ARGV[5]) == 1 then return 'elsewhere' end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
if not isOurs then return 'lost' end
writeRound(3, 6)
return 'ours'`);

type LocalAnswers = AtOnce<Omit<HubAnswers, "claimRound" | "leases">>;

interface FoundAnswer {
  readonly kept: KeptAnswer;
  /** Empty if no node is making it. */
  readonly lease: string;
}

/** The pause between two looks at an answer that another node makes and Redis does not have. */
const LOOK_MS = 100;

/**
 * Answers of the hub of all nodes. They are written here at once and to Redis in the background, but for the start of a
 * round, which Redis and the other nodes have before a call is made. So a call is made by one node only. The node that makes
 * an answer has a lease on it, and another one continues it only after that. The copies from other nodes are used
 * where Redis does not reply, or has less.
 */
export function createSharedHubAnswers(
  { link, writes, packing, scope, limits }: StoreParts,
  local: LocalAnswers,
  copies: AnswerCopies,
): HubAnswers {
  const room = new ValueRoom(link, [scope, "hub"], { ...LIMITS, ...limits });
  const leases = new HubLeases(link, writes);
  const askedKey = (principalId: string, asked: string) => room.key(principalId, "asked", digest(asked));
  const historyKey = (principalId: string, history: string) => room.key(principalId, "history", digest(history));

  /** Returns an answer with new fields, the key of its request, and the time. */
  const withFields = ({ principalId, id, askedKey: asked }: AnswerPlace, fields: NewValue["fields"]) => {
    const now = String(Date.now());
    const known = [["id", id] as const, ["asked", asked] as const, ["at", now] as const];
    const value: NewValue = { principalId, key: keyOf(principalId, id), fields: [...known, ...fields] };
    return { value, order: askedKey(principalId, asked), now };
  };

  const put = async (client: RedisClient, place: AnswerPlace, given: Pick<NewValue, "fields" | "pointers">) => {
    const { value, order, now } = withFields(place, given.fields);
    await Promise.all([
      room.put(client, { ...given, ...value }),
      ADD_ASKED.run(client, [order], [now, value.key, String(room.ttlMs)]),
    ]);
  };

  /** Returns what {@link WRITE_ROUND} needs. */
  const roundParts = (place: AnswerPlace, field: NewValue["fields"][number]) => {
    const { value, order, now } = withFields(place, [field]);
    const { keys, given } = room.putParts(value);
    return { keys: [order, ...keys], given: [now, ...given] };
  };

  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const leaseKey = ({ principalId, id }: AnswerPlace) => `${keyOf(principalId, id)}:lease`;
  const claimKey = ({ principalId, id }: AnswerPlace, position: number) =>
    room.key(principalId, "claim", digest(id), String(position));
  const placeOf = (principalId: string, id: string, name: string) => `${keyOf(principalId, id)} ${name}`;
  const roundField = async ({ principalId, id }: AnswerPlace, position: number, json: string) => {
    const name = `r${position}`;
    return [name, await packing.pack(json, placeOf(principalId, id, name))] as const;
  };

  /** Reads a hash. Undefined if it is gone, or its rounds are not complete. */
  const readAnswer = async (principalId: string, reply: unknown): Promise<FoundAnswer | undefined> => {
    const [hash, lease] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
    const fields = fieldsOf(hash);
    const [id = "", asked, at] = ["id", "asked", "at"].map((name) => fields.get(name)?.toString());
    if (id === "" || asked === undefined) return undefined;
    const read = (name: string) => packing.unpack(fields.get(name), placeOf(principalId, id, name));
    const rounds: HubRound[] = [];
    const count = [...fields.keys()].filter((name) => /^r\d+$/.test(name)).length;
    for (let position = 0; position < count; position++) {
      const round = await read(`r${position}`);
      if (!round) return undefined;
      rounds.push(parseRound(round.toString()));
    }
    const reason = fields.get("reason");
    const text = reason && (await read("text"));
    const kept: KeptAnswer = {
      id,
      askedKey: asked,
      rounds,
      end: reason && { text: text?.toString() ?? "", reason: reason.toString() as DoneReason },
      isSettled: fields.has("settled"),
      ageMs: Math.max(0, Date.now() - Number(at)),
    };
    return { kept, lease: String(lease ?? "") };
  };

  /**
   * Finds answers in Redis, in the order of the script. Waits until it is known of each whether another node is making it;
   * with a signal, until no other node is making one of them.
   */
  const find = async (
    principalId: string,
    ask: (client: RedisClient) => Promise<unknown>,
    untilFree: AbortSignal | undefined,
  ): Promise<readonly (KeptAnswer | undefined)[]> => {
    const seen = new Map<string, string>();
    for (;;) {
      const reply = await link.askBriefly(ask, () => undefined);
      const found = await Promise.all(
        (Array.isArray(reply) ? reply : []).map((answer) => readAnswer(principalId, answer)),
      );
      const unclear = new Map<string, string>();
      const answers = found.map((answer) => {
        if (!answer) return undefined;
        const { kept, lease } = answer;
        const isElsewhere = leases.isElsewhere(lease) && !isComplete(kept);
        const key = leaseKey({ principalId, ...kept });
        if (isElsewhere && (untilFree || (seen.get(key) ?? lease) === lease)) unclear.set(key, lease);
        if (isElsewhere && !seen.has(key)) seen.set(key, lease);
        return { ...kept, isElsewhere };
      });
      if (unclear.size === 0) return answers;
      await leases.changed(unclear, untilFree);
    }
  };

  const putRound = (place: AnswerPlace, position: number, round: HubRound): void => {
    local.putRound(place, position, round);
    const json = formatRound(round);
    copies.send({ type: "round", place, position, round: json });
    writes.add({
      prepare: roundField(place, position, json),
      bytes: json.length,
      write: (client, packed) => put(client, place, { fields: [packed] }),
    });
  };

  return {
    leases: {
      take: (answer) => leases.take(leaseKey(answer.place), answer),
      async begin(answer, position, round) {
        const { place } = answer;
        const key = leaseKey(place);
        const given = leases.hold(key, answer);
        const json = formatRound(round);
        const field = await roundField(place, position, json);
        const begin = () =>
          link.ask<RoundClaim | Missed>(
            async (client) => {
              const written = roundParts(place, field);
              const keys = [claimKey(place, position), key, ...written.keys];
              const lasts = String(room.ttlMs);
              const reply = await BEGIN.run(client, keys, [leases.node, lasts, ...given, field[0], ...written.given]);
              return String(reply) as RoundClaim;
            },
            (why) => why,
          );
        let whose = await begin();
        // Once more, since a call that is made twice is worse than one that waits.
        if (whose === "late") whose = await begin();
        if (whose === "elsewhere") leases.forget(key);
        if (whose === "elsewhere" || whose === "lost") return whose;
        if (whose === "ours") {
          local.putRound(place, position, round);
          copies.send({ type: "round", place, position, round: json });
        }
        // Redis is away, so it gets the round later.
        else putRound(place, position, round);
        await copies.acknowledged();
        return "ours";
      },
      free(place) {
        if (leases.free(leaseKey(place))) copies.send({ type: "left", place });
      },
    },
    async findAsked(principalId, asked, untilFree) {
      copies.prepare();
      const keys = [askedKey(principalId, asked)];
      const found = await find(principalId, (client) => BY_REQUEST.run(client, keys, []), untilFree);
      const shared = found.filter((kept) => kept !== undefined);
      for (;;) {
        const copied = copies.findAsked(principalId, asked);
        const isMade = copied.some(({ id, isElsewhere }) => isElsewhere && !shared.some((kept) => kept.id === id));
        if (!untilFree || !isMade) return merged(shared, [...copied, ...local.findAsked(principalId, asked)]);
        await sleep(LOOK_MS, undefined, { signal: untilFree });
      }
    },
    async findAnswered(principalId, histories, untilFree) {
      const asked = histories.slice(-MAX_HISTORIES);
      const keys = asked.map((history) => historyKey(principalId, history));
      const shared = await find(principalId, (client) => BY_HISTORY.run(client, keys, []), untilFree);
      const found = new Map(local.findAnswered(principalId, histories));
      const take = (history: string, kept: KeptAnswer | undefined) => {
        const own = found.get(history);
        if (kept && (!own || progressOf(kept) > progressOf(own))) found.set(history, kept);
      };
      for (const [at, history] of asked.entries()) take(history, shared[at]);
      for (const [history, kept] of copies.findAnswered(principalId, asked)) take(history, kept);
      return found;
    },
    async claimRound(place, position, round) {
      const claim = claimKey(place, position);
      const field = await roundField(place, position, formatRound(round));
      const { keys, given } = roundParts(place, field);
      const isOurs = await link.ask(
        async (client) =>
          (await CLAIM.run(client, [claim, ...keys], [leases.node, String(room.ttlMs), ...given])) === 1,
        () => true,
      );
      if (isOurs) await copies.acknowledged();
      return isOurs;
    },
    putRound,
    putEnd(place, end, history) {
      local.putEnd(place, end, history);
      copies.send({ type: "end", place, end, history });
      const { principalId, id } = place;
      const key = keyOf(principalId, id);
      writes.add({
        prepare: packing.pack(end.text, placeOf(principalId, id, "text")),
        bytes: end.text.length,
        write: (client, text) =>
          put(client, place, {
            fields: [
              ["text", text],
              ["reason", end.reason],
            ],
            pointers: { keys: [historyKey(principalId, history)], text: key },
          }),
      });
    },
    settle(place) {
      local.settle(place);
      copies.send({ type: "settled", place });
      writes.add({
        prepare: Promise.resolve(),
        bytes: place.id.length,
        write: (client) => put(client, place, { fields: [["settled", "1"]] }),
      });
    },
  };
}

/** Hashes come as maps, or as lists of names and values from scripts. */
function fieldsOf(reply: unknown): ReadonlyMap<string, Buffer> {
  const flat: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const fields = new Map<string, Buffer>();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const value = flat[at + 1];
    if (Buffer.isBuffer(value)) fields.set(String(flat[at]), value);
  }
  return fields;
}

/** Of an answer that is in Redis, this node may know more: Redis is written in the background. */
function merged(shared: readonly KeptAnswer[], local: readonly KeptAnswer[]): readonly KeptAnswer[] {
  const best = new Map(shared.map((kept) => [kept.id, kept]));
  for (const kept of local) {
    const other = best.get(kept.id);
    const isElsewhere = (other ?? kept).isElsewhere ?? false;
    if (!other || progressOf(kept) >= progressOf(other)) best.set(kept.id, { ...kept, isElsewhere });
  }
  return [...best.values()].sort((one, other) => one.ageMs - other.ageMs);
}

const progressOf = ({ rounds, end, isSettled }: KeptAnswer): number =>
  rounds.reduce((sum, { results }) => sum + 1 + results.length, 0) + (end ? 1 : 0) + (isSettled ? 1 : 0);
