import { z } from "zod";
import type { AtOnce } from "../../../core/awaitable.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { ResponseStore, StoredResponse } from "../../../core/history/stored-responses.ts";
import { within } from "../../../core/within.ts";
import { askAgain } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { DAY_MS, digest, MiB, type RoomLimits, type StoreParts, ValueRoom } from "./value-room.ts";

const LIMITS: RoomLimits = { maxBytes: 64 * MiB, maxItems: 2000, maxValueBytes: 8 * MiB, ttlMs: 30 * DAY_MS };

/** Items of one answer that are found by their own id, at most: the last ones. */
const MAX_ITEMS = 256;

/** The longest chain of answers that is followed. A longer one is probably a cycle. */
const MAX_CONVERSATION = 10_000;

/** How long others may need to write what they have kept while Redis was away. */
const BACK_MS = 3000;

const DELETED = "deleted";

/**
 * KEYS: an answer, or a pointer to one. ARGV: how long it lives, how far to follow, whether it is a pointer. Returns the
 * conversation, last answer first, and keeps it alive; nothing if a part is missing; the word `deleted` if one was deleted.
 */
const CONVERSATION = new RedisScript(`
local found, key = {}, KEYS[1]
if ARGV[3] == '1' then key = redis.call('GET', key) end
for step = 1, tonumber(ARGV[2]) do
  if not key then return false end
  local row = redis.call('HMGET', key, 'deleted', 'data', 'previous')
  if row[1] then return '${DELETED}' end
  if not row[2] then return false end
  redis.call('PEXPIRE', key, ARGV[1])
  found[#found + 1] = key
  found[#found + 1] = row[2]
  if row[3] == '' or ARGV[2] == '1' then return found end
  key = row[3]
end
return false`);

const ItemSchema = z.object({ id: z.string(), json: z.string() });
const ResponseSchema = z.object({
  id: z.string(),
  previousId: z.string().optional(),
  body: z.string(),
  input: z.array(ItemSchema),
  output: z.array(ItemSchema),
});

const readResponse = (json: string): StoredResponse => {
  const { previousId, ...rest } = ResponseSchema.parse(JSON.parse(json));
  return { ...rest, previousId };
};

type Found =
  | { readonly type: "found"; readonly answers: readonly StoredResponse[] }
  | { readonly type: "missing" | "deleted" | "no-reply" };

/**
 * Kept answers of all gateways. They are written here at once, and to Redis before the client sees the end of the answer.
 * Redis is read first, since another gateway may have deleted one. If it does not reply, the own copy is read, and what is not
 * there may still exist: the client is to ask again.
 */
export function createSharedResponses(
  { link, writes, scope, redisMs, limits }: StoreParts,
  local: AtOnce<ResponseStore>,
): ResponseStore {
  const room = new ValueRoom(link, [scope, "response"], { ...LIMITS, ...limits });
  const keyOf = (principalId: string, id: string) => room.key(principalId, digest(id));
  const itemKey = (principalId: string, id: string) => room.key(principalId, "item", digest(id));
  link.onNews("deleted", ({ principalId, id }) => local.delete(principalId, id));

  const read = async (key: string, steps: number, isPointer = false): Promise<Found> => {
    const given = [String(room.ttlMs), String(steps), isPointer ? "1" : "0"];
    const reply = await askAgain(link, (client) => CONVERSATION.run(client, [key], given));
    if (reply === "late" || reply === "away") return { type: "no-reply" };
    if (Buffer.isBuffer(reply) && reply.toString() === DELETED) return { type: "deleted" };
    if (!Array.isArray(reply)) return { type: link.backForMs < BACK_MS ? "no-reply" : "missing" };
    const answers: StoredResponse[] = [];
    for (let at = 0; at + 1 < reply.length; at += 2) {
      const answer = room.parse(room.open(String(reply[at]), reply[at + 1] as Buffer), readResponse);
      if (!answer) return { type: "missing" };
      answers.push(answer);
    }
    return { type: "found", answers };
  };

  /** What Redis has counts, and else the own copy. */
  const choose = <T>(found: Found, ofShared: (answers: readonly StoredResponse[]) => T, ofOwn: () => T): T => {
    if (found.type === "found") return ofShared(found.answers);
    const own = found.type === "deleted" ? (undefined as T) : ofOwn();
    if (found.type === "no-reply" && own === undefined) throw unavailable();
    return own;
  };

  return {
    async put(principalId, response) {
      local.put(principalId, response);
      const { id, previousId, input, output, body } = response;
      const key = keyOf(principalId, id);
      const items = [...input, ...output];
      const written = writes.add({
        bytes: items.reduce((sum, { json }) => sum + json.length, body.length),
        write: (client) =>
          room.put(client, {
            principalId,
            key,
            fields: [
              ["data", room.seal(key, JSON.stringify(response))],
              ["previous", previousId === undefined ? "" : keyOf(principalId, previousId)],
            ],
            pointers: items.slice(-MAX_ITEMS).map((item) => itemKey(principalId, item.id)),
          }),
      });
      await within(written, redisMs);
    },
    async find(principalId, id) {
      const found = await read(keyOf(principalId, id), 1);
      return choose(
        found,
        ([answer]) => answer,
        () => local.find(principalId, id),
      );
    },
    async conversation(principalId, id) {
      const found = await read(keyOf(principalId, id), MAX_CONVERSATION);
      return choose<readonly string[] | undefined>(
        found,
        (answers) => {
          const inOrder = answers.toReversed();
          // Redis may forget them; then this gateway can still continue the conversation.
          for (const answer of inOrder) if (!local.find(principalId, answer.id)) local.put(principalId, answer);
          return inOrder.flatMap(({ input, output }) => [...input, ...output].map(({ json }) => json));
        },
        () => local.conversation(principalId, id),
      );
    },
    async findItem(principalId, itemId) {
      const found = await read(itemKey(principalId, itemId), 1, true);
      return choose(
        found,
        ([answer]) => [...(answer?.input ?? []), ...(answer?.output ?? [])].findLast(({ id }) => id === itemId)?.json,
        () => local.findItem(principalId, itemId),
      );
    },
    /** A mark stays in the place of the answer, and every gateway deletes its own copy. */
    async delete(principalId, id) {
      const key = keyOf(principalId, id);
      const found = await read(key, 1);
      if (found.type === "no-reply") throw unavailable();
      const wasOwn = local.find(principalId, id) !== undefined;
      if (found.type === "deleted") return local.delete(principalId, id);
      if (found.type === "missing" && !wasOwn) return false;
      const marked = await askAgain(link, (client) =>
        room.put(client, {
          principalId,
          key,
          fields: [
            ["deleted", "1"],
            ["data", ""],
          ],
        }),
      );
      if (marked === "late" || marked === "away") throw unavailable();
      local.delete(principalId, id);
      link.tell({ type: "deleted", principalId, id });
      return true;
    },
  };
}

const unavailable = (): ExcursorError => new ExcursorError("store_unavailable", [], { retryAfterMs: 1000 });
