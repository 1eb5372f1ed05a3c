import { randomUUID } from "node:crypto";
import type { AtOnce } from "../../../core/awaitable.ts";
import type { DoneReason } from "../../../core/events.ts";
import type { AnswerPlace, HubAnswers, HubRound, KeptAnswer } from "../../../core/hub/hub-answers.ts";
import { formatRound, parseRound } from "../../../core/hub/round-json.ts";
import type { RedisClient } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import type { StoreParts } from "./store-parts.ts";
import { DAY_MS, digest, MiB, type NewValue, type RoomLimits, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 7 * DAY_MS };

/** Answers to one request that are found, at most. */
const MAX_FOUND = 8;

/** Histories that are asked for, at most: the last ones. */
const MAX_HISTORIES = 500;

/** KEYS: the answers to a request, by time. Returns the fields of the newest ones. */
const BY_REQUEST = new RedisScript(`
local found = {}
for at, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, ${MAX_FOUND - 1}, 'REV')) do found[at] = redis.call('HGETALL', key) end
return found`);

/** KEYS: the answers to a request, by time. ARGV: the time, the answer, how long they live. */
const ADD_ASKED = new RedisScript(`
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, ${-1 - MAX_FOUND})
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`);

/** KEYS: pointers from histories to answers. Returns the fields of each. */
const BY_HISTORY = new RedisScript(`
local found = {}
for at, pointer in ipairs(KEYS) do
  local key = redis.call('GET', pointer)
  found[at] = key and redis.call('HGETALL', key) or false
end
return found`);

/** KEYS: the claim of a round. ARGV: who claims it, for how long. Returns whether it is theirs. */
const CLAIM = new RedisScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0`);

type LocalAnswers = AtOnce<Omit<HubAnswers, "claimRound">>;

/**
 * Answers of the hub of all nodes. They are written here at once and to Redis in the background, but for the start of a
 * round, which Redis has before a call is made. So a call is made by one node only.
 */
export function createSharedHubAnswers(
  { link, writes, packing, scope, limits }: StoreParts,
  local: LocalAnswers,
): HubAnswers {
  const room = new ValueRoom(link, [scope, "hub"], { ...LIMITS, ...limits });
  const writer = randomUUID();
  const askedKey = (principalId: string, asked: string) => room.key(principalId, "asked", digest(asked));
  const historyKey = (principalId: string, history: string) => room.key(principalId, "history", digest(history));

  const put = async (client: RedisClient, place: AnswerPlace, value: Pick<NewValue, "fields" | "pointers">) => {
    const { principalId, id, askedKey: asked } = place;
    const key = room.key(principalId, digest(id));
    const order = askedKey(principalId, asked);
    const now = Date.now();
    const known = [["id", id] as const, ["asked", asked] as const, ["at", String(now)] as const];
    await Promise.all([
      room.put(client, { principalId, key, ...value, fields: [...known, ...value.fields] }),
      ADD_ASKED.run(client, [order], [String(now), key, String(room.ttlMs)]),
    ]);
  };

  const placeOf = (principalId: string, id: string, name: string) => `${room.key(principalId, digest(id))} ${name}`;
  const roundField = async ({ principalId, id }: AnswerPlace, position: number, json: string) => {
    const name = `r${position}`;
    return [name, await packing.pack(json, placeOf(principalId, id, name))] as const;
  };

  /** Reads a hash. Undefined if it is gone, or its rounds are not complete. */
  const readAnswer = async (principalId: string, reply: unknown): Promise<KeptAnswer | undefined> => {
    const fields = fieldsOf(reply);
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
    return {
      id,
      askedKey: asked,
      rounds,
      end: reason && { text: text?.toString() ?? "", reason: reason.toString() as DoneReason },
      isSettled: fields.has("settled"),
      ageMs: Math.max(0, Date.now() - Number(at)),
    };
  };
  const readAll = (principalId: string, found: unknown) =>
    Promise.all((Array.isArray(found) ? found : []).map((reply) => readAnswer(principalId, reply)));

  return {
    async findAsked(principalId, asked) {
      const found = await link.ask(
        (client) => BY_REQUEST.run(client, [askedKey(principalId, asked)], []),
        () => undefined,
      );
      const shared = await readAll(principalId, found);
      return merged(
        shared.filter((kept) => kept !== undefined),
        local.findAsked(principalId, asked),
      );
    },
    async findAnswered(principalId, histories) {
      const asked = histories.slice(-MAX_HISTORIES);
      const found = await link.ask(
        (client) =>
          BY_HISTORY.run(
            client,
            asked.map((history) => historyKey(principalId, history)),
            [],
          ),
        () => undefined,
      );
      const shared = await readAll(principalId, found);
      const entries = asked.flatMap((history, at) => {
        const kept = shared[at];
        return kept ? [[history, kept] as const] : [];
      });
      return new Map([...entries, ...local.findAnswered(principalId, histories)]);
    },
    async claimRound(place, position, round) {
      const { principalId, id } = place;
      const claim = room.key(principalId, "claim", digest(id), String(position));
      const field = await roundField(place, position, formatRound(round));
      return link.ask(
        async (client) => {
          const isOurs = (await CLAIM.run(client, [claim], [writer, String(room.ttlMs)])) === 1;
          if (isOurs) await put(client, place, { fields: [field] });
          return isOurs;
        },
        () => true,
      );
    },
    putRound(place, position, round) {
      local.putRound(place, position, round);
      const json = formatRound(round);
      writes.add({
        prepare: roundField(place, position, json),
        bytes: json.length,
        write: (client, packed) => put(client, place, { fields: [packed] }),
      });
    },
    putEnd(place, end, history) {
      local.putEnd(place, end, history);
      const { principalId, id } = place;
      const key = room.key(principalId, digest(id));
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

/** Of an answer that both have, this node may have more: Redis is written in the background. */
function merged(shared: readonly KeptAnswer[], local: readonly KeptAnswer[]): readonly KeptAnswer[] {
  const best = new Map(shared.map((kept) => [kept.id, kept]));
  for (const kept of local) {
    const other = best.get(kept.id);
    if (!other || progressOf(kept) >= progressOf(other)) best.set(kept.id, kept);
  }
  return [...best.values()].sort((one, other) => one.ageMs - other.ageMs);
}

const progressOf = ({ rounds, end, isSettled }: KeptAnswer): number =>
  rounds.reduce((sum, { results }) => sum + 1 + results.length, 0) + (end ? 1 : 0) + (isSettled ? 1 : 0);
