import { randomUUID } from "node:crypto";
import { ExcursorError } from "../../../core/errors.ts";
import type { GatewayKey, IssuedKeyState } from "../../../server/gate/keys/gateway-keys.ts";
import type { RedisLink } from "../redis-link.ts";
import { RedisScript } from "../redis-script.ts";

/** The file of issued keys of this gateway. */
interface KeyFile {
  /** Returns a value that differs after every change. Cheap. */
  stamp(): string;
  /** Throws if it cannot be read. */
  read(): IssuedKeyState;
  /** Throws if it is no key that this version knows. */
  parse(json: string): GatewayKey;
  merge(other: IssuedKeyState): Promise<void>;
}

export interface KeyRegisterOptions {
  readonly link: RedisLink;
  readonly file: KeyFile;
  readonly onProblem: (text: string) => void;
  /** How often the file is looked at. */
  readonly intervalMs?: number;
}

/** With what a gateway is told of changes, a key that is revoked on one is refused on all within a second. */
const INTERVAL_MS = 250;

const TTL_MS = 90 * 86_400_000;

/** Redis is asked every so many looks at the file, for what a gateway was not told. */
const LOOKS = 20;

/**
 * Replaces the register unless it has changed. KEYS: the register. ARGV: its version as it was read, the new one, the register, how
 * long it lives: each gateway has it in its file.
 */
const REPLACE = new RedisScript(`
if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'entries', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`);

/** An entry is a key, or says that a key was revoked. Other versions may know more of it. */
type Entry = Readonly<Record<string, unknown>> & { readonly id: string; readonly revokedAt?: unknown };

/**
 * The issued keys of all gateways, in one register in Redis. The file of each gateway is its copy: the register and the file
 * get what the other has, and an entry that revokes a key outlives the key. So neither a Redis that is empty or old brings a
 * revoked key back, nor does a gateway that was away. Each gateway reads its own file, also while Redis is away.
 */
export class KeyRegister {
  readonly #options: KeyRegisterOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #stop: () => void;
  #stamp: string | undefined;
  #version: string | undefined;
  #looks = 0;
  #work: Promise<void> | undefined;
  #problem: string | undefined;

  constructor(options: KeyRegisterOptions) {
    const { link, file, intervalMs = INTERVAL_MS } = options;
    this.#options = options;
    link.onNews("keys", () => void this.sync());
    this.#stop = link.onChange((isUp) => isUp && void this.sync());
    this.#timer = setInterval(() => {
      if (++this.#looks % LOOKS === 0 || file.stamp() !== this.#stamp) void this.sync();
    }, intervalMs).unref();
  }

  /** Makes register and file equal. Never rejects. */
  sync(): Promise<void> {
    this.#work ??= this.#sync()
      .then(
        () => this.#tell(undefined),
        (error: unknown) => this.#tell(ExcursorError.from(error).message),
      )
      .finally(() => {
        this.#work = undefined;
      });
    return this.#work;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  async #sync(): Promise<void> {
    const { link, file } = this.#options;
    const key = link.key("register");
    for (;;) {
      const stamp = file.stamp();
      const found = await link.ask(
        (client) => client.hmGet(key, ["version", "entries"]),
        () => undefined,
      );
      if (!found) return;
      const [version, json] = found;
      if (stamp === this.#stamp && typeof version === "string" && version === this.#version) return;
      const own = file.read();
      const shared = this.#parse(json ?? "[]");
      const known = this.#readable(shared);
      if (hasMore(known, own)) await file.merge(known);
      const next = union(shared, own);
      if (next.length === shared.length && !isChanged(next, shared)) {
        this.#stamp = stamp;
        this.#version = version ?? undefined;
        if (version || next.length === 0) return;
      }
      const newVersion = randomUUID();
      const isReplaced = await link.ask(
        async (client) =>
          (await REPLACE.run(client, [key], [version ?? "", newVersion, JSON.stringify(next), String(TTL_MS)])) === 1,
        () => undefined,
      );
      if (isReplaced === undefined) return;
      if (isReplaced) link.tell({ type: "keys" });
    }
  }

  /** What is no entry is left out, also when the register is written anew. */
  #parse(json: string): readonly Entry[] {
    const list = parseList(json);
    const entries = list.filter(isEntry);
    if (entries.length < list.length) this.#options.link.reportDamaged("register");
    return entries;
  }

  /** Entries of another version are left out here, and stay in the register. */
  #readable(entries: readonly Entry[]): IssuedKeyState {
    const keys: GatewayKey[] = [];
    for (const entry of entries) {
      if (entry.revokedAt !== undefined) continue;
      try {
        keys.push(this.#options.file.parse(JSON.stringify(entry)));
      } catch {
        this.#options.link.reportDamaged(`key ${entry.id.slice(0, 80)}`);
      }
    }
    const revoked = entries.flatMap(({ id, revokedAt }) =>
      revokedAt === undefined ? [] : [{ id, revokedAt: String(revokedAt) }],
    );
    return { keys, revoked };
  }

  #tell(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) this.#options.onProblem(problem);
    this.#problem = problem;
  }
}

function parseList(json: string): readonly unknown[] {
  try {
    const list = JSON.parse(json) as unknown;
    return Array.isArray(list) ? list : [list];
  } catch {
    return [json];
  }
}

const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";

/** The entries of both. One that revokes a key stands in the place of the key. */
function union(shared: readonly Entry[], own: IssuedKeyState): readonly Entry[] {
  const byId = new Map<string, Entry>(own.keys.map((key) => [key.id, key]));
  for (const entry of shared) byId.set(entry.id, entry);
  for (const entry of own.revoked) byId.set(entry.id, { id: entry.id, revokedAt: entry.revokedAt });
  return [...byId.values()];
}

const isChanged = (next: readonly Entry[], shared: readonly Entry[]): boolean => {
  const revoked = new Set(shared.flatMap(({ id, revokedAt }) => (revokedAt === undefined ? [] : [id])));
  return next.some(({ id, revokedAt }) => revokedAt !== undefined && !revoked.has(id));
};

/** True if others know of a key, or of its end, and this gateway does not. */
function hasMore(all: IssuedKeyState, own: IssuedKeyState): boolean {
  const gone = new Set(own.revoked.map(({ id }) => id));
  const known = new Set([...own.keys.map(({ id }) => id), ...gone]);
  return all.keys.some(({ id }) => !known.has(id)) || all.revoked.some(({ id }) => !gone.has(id));
}
