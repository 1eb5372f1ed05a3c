import type { GatewayKey, IssuedKeyState } from "../../../server/gate/keys/gateway-keys.ts";
import type { Packing } from "../packing.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";
import { SyncLoop } from "../sync-loop.ts";

/** The file of issued keys of this node. */
interface KeyFile {
  /** Returns a value that differs after every change. Cheap. */
  stamp(): string;
  /** Throws if it cannot be read. */
  read(): IssuedKeyState;
  parse(json: string): GatewayKey;
  merge(other: IssuedKeyState): Promise<void>;
}

export interface SharedKeysOptions {
  readonly link: RedisLink;
  /** Whoever can write to Redis must not be able to make keys. */
  readonly packing: Packing;
  readonly file: KeyFile;
  readonly onProblem: (text: string) => void;
  /** How often it is looked for changes, here and at the other nodes. */
  readonly intervalMs?: number;
}

/** With twice this, a key that is revoked on one node is refused on all within a second. */
const INTERVAL_MS = 250;

const TTL_MS = 90 * 86_400_000;

/**
 * Adds what this node knows, and returns all. KEYS: the keys by id, the revoked ids, the version. ARGV: how long they live,
 * how many keys follow, ids and JSON of keys, ids and times of revoked keys.
 */
const MERGE = new RedisScript(`
local keys, revoked, version = KEYS[1], KEYS[2], KEYS[3]
local changed, last = false, 2 + 2 * tonumber(ARGV[2])
for at = last + 1, #ARGV, 2 do
  if redis.call('HSETNX', revoked, ARGV[at], ARGV[at + 1]) == 1 then changed = true end
end
for at = 3, last, 2 do
  if redis.call('HEXISTS', revoked, ARGV[at]) == 0 and redis.call('HSETNX', keys, ARGV[at], ARGV[at + 1]) == 1 then
    changed = true
  end
end
for _, id in ipairs(redis.call('HKEYS', keys)) do
  if redis.call('HEXISTS', revoked, id) == 1 then redis.call('HDEL', keys, id) changed = true end
end
-- A time and not a count: a Redis that comes back empty must not repeat a version.
if changed or redis.call('EXISTS', version) == 0 then redis.call('SET', version, table.concat(redis.call('TIME'), '.')) end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
return { redis.call('GET', version), redis.call('HGETALL', keys), redis.call('HGETALL', revoked) }`);

/**
 * Keeps the files of issued keys of all nodes the same, through Redis. A key that was revoked on any of them is revoked on
 * all, and never comes back. Each node reads its own file, also while Redis is away.
 */
export class SharedKeys {
  readonly #options: SharedKeysOptions;
  readonly #loop: SyncLoop;
  readonly #keys: readonly string[];
  #stamp: string | undefined;
  #version: string | undefined;

  constructor(options: SharedKeysOptions) {
    const { link, onProblem, intervalMs = INTERVAL_MS } = options;
    this.#options = options;
    this.#keys = [link.key("keys"), link.key("revoked"), link.key("keys-version")];
    this.#loop = new SyncLoop({ work: () => this.#sync(), intervalMs, onProblem });
  }

  /** Looks for changes, and takes them over. Never rejects. */
  sync(): Promise<void> {
    return this.#loop.run();
  }

  close(): void {
    this.#loop.close();
  }

  async #sync(): Promise<void> {
    const { link, file, packing } = this.#options;
    const stamp = file.stamp();
    const [, , versionKey = ""] = this.#keys;
    const version = await link.ask<string | null | undefined>(
      (client) => client.get(versionKey),
      () => undefined,
    );
    if (version === undefined || (stamp === this.#stamp && version !== null && version === this.#version)) return;
    const own = file.read();
    const packed = await Promise.all(
      own.keys.map(async (key) => [key.id, await packing.pack(JSON.stringify(key), key.id)] as const),
    );
    const reply = await link.ask(
      (client) =>
        MERGE.run(client, this.#keys, [
          String(TTL_MS),
          String(own.keys.length),
          ...packed.flat(),
          ...own.revoked.flatMap(({ id, revokedAt }) => [id, revokedAt]),
        ]),
      () => undefined,
    );
    if (!Array.isArray(reply)) return;
    const all = await this.#read(reply);
    if (hasMore(all, own)) await file.merge(all);
    this.#stamp = file.stamp();
    this.#version = String(reply[0]);
  }

  /** Keys that were not made by a node with the same secret are left out. */
  async #read([, keys, revoked]: readonly unknown[]): Promise<IssuedKeyState> {
    const { packing, file } = this.#options;
    const unpacked = await Promise.all(pairsOf(keys).map(([id, value]) => packing.unpack(value, id)));
    return {
      keys: unpacked.flatMap((json) => (json ? [file.parse(json.toString())] : [])),
      revoked: pairsOf(revoked).map(([id, revokedAt]) => ({ id, revokedAt: String(revokedAt) })),
    };
  }
}

/** True if the others know of a key, or of its end, and this node does not. */
function hasMore(all: IssuedKeyState, own: IssuedKeyState): boolean {
  const known = new Set(own.keys.map(({ id }) => id));
  const gone = new Set(own.revoked.map(({ id }) => id));
  return all.keys.some(({ id }) => !known.has(id)) || all.revoked.some(({ id }) => !gone.has(id));
}

function pairsOf(flat: unknown): readonly (readonly [string, unknown])[] {
  const values: readonly unknown[] = Array.isArray(flat) ? flat : [];
  return values.flatMap((value, at) => (at % 2 === 0 ? [[String(value), values[at + 1]] as const] : []));
}
