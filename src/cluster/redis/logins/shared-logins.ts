import { readClaims } from "../../../core/access/token-claims.ts";
import type { Account, AccountStore } from "../../../credentials/account-store.ts";
import { formatSeed, parseSeed, secretOf } from "../../../credentials/login.ts";
import type { Packing } from "../packing.ts";
import type { RedisLink } from "../redis-link.ts";
import { withRedisLock } from "../redis-lock.ts";
import { RedisScript } from "../redis-script.ts";
import { digest } from "../stores/value-room.ts";
import { SyncLoop } from "../sync-loop.ts";

export interface SharedLoginsOptions {
  readonly link: RedisLink;
  /** Made of a secret of its own: without that, logins are not shared. */
  readonly packing: Packing;
  /** The logins of this node. */
  readonly local: AccountStore;
  readonly onProblem: (text: string) => void;
  /** How often it is looked for changes. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 1000;

const TTL_MS = 30 * 86_400_000;

interface SharedAccount extends Account {
  /** When it was shared, in milliseconds since the epoch. */
  readonly savedAt: number;
}

/** Stands, with a time, for an account that was signed out. A login that is younger counts. */
const SIGNED_OUT = /^-(\d{1,16})$/;

interface SignedOut {
  readonly signedOutAt: number;
}

/** KEYS: the logins by account, their version. ARGV: how long they live, then accounts and logins. */
const PUT = new RedisScript(`
for at = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call('SET', KEYS[2], table.concat(redis.call('TIME'), '.'), 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);

const ALL = new RedisScript("return { redis.call('GET', KEYS[2]), redis.call('HGETALL', KEYS[1]) }");

/**
 * The accounts of this node, kept equal to those of the other nodes through Redis. A login is renewed by one node at a time,
 * and the others take over what it got. An account that is signed in or out on one node is so on all.
 */
export class SharedLogins implements AccountStore {
  readonly #options: SharedLoginsOptions;
  readonly #loop: SyncLoop;
  readonly #keys: readonly [logins: string, version: string];
  /** The accounts that were here when it was looked last. */
  #known = new Set<string>();
  /** When the logins were shared that this node knows. */
  readonly #seen = new Map<string, number>();
  #version: string | undefined;
  #stamp: string | undefined;
  readonly lock: AccountStore["lock"];

  constructor(options: SharedLoginsOptions) {
    const { link, local, onProblem, intervalMs = INTERVAL_MS } = options;
    this.#options = options;
    this.#keys = [link.key("logins"), link.key("logins-version")];
    this.#loop = new SyncLoop({ work: () => this.#sync(), intervalMs, onProblem });
    this.lock = {
      run: (work) =>
        local.lock.run(() =>
          withRedisLock(link, link.key("logins-lock"), async () => {
            // Another node may have renewed the login while this one has waited.
            await this.#exchange();
            return work();
          }),
        ),
    };
  }

  get path(): string {
    return this.#options.local.path;
  }

  stamp(): string {
    return this.#options.local.stamp();
  }

  list(): ReturnType<AccountStore["list"]> {
    return this.#options.local.list();
  }

  read(name: string): Promise<Account | undefined> {
    return this.#options.local.read(name);
  }

  async write(account: Account): Promise<"file" | "keychain"> {
    const kept = await this.#options.local.write(account);
    await this.#put([[fieldOf(account), await this.#pack(account)]]);
    return kept;
  }

  async remove(name: string): Promise<boolean> {
    const { local } = this.#options;
    const account = await local.read(name);
    const wasThere = await local.remove(name);
    if (account) await this.#put([[fieldOf(account), `-${Date.now()}`]]);
    return wasThere;
  }

  /** Takes over what has changed, here and at the other nodes. Never rejects. */
  sync(): Promise<void> {
    return this.#loop.run();
  }

  close(): void {
    this.#loop.close();
  }

  async #sync(): Promise<void> {
    const { link, local } = this.#options;
    const version = await link.ask<string | null | undefined>(
      (client) => client.get(this.#keys[1]),
      () => undefined,
    );
    if (version === undefined) return;
    if (version !== null && version === this.#version && this.#stamp === local.stamp()) return;
    await local.lock.run(() => this.#exchange());
  }

  /** The caller holds the lock of this node. */
  async #exchange(): Promise<void> {
    const { link, local } = this.#options;
    const reply = await link.ask(
      (client) => ALL.run(client, this.#keys, []),
      () => undefined,
    );
    if (!Array.isArray(reply)) return;
    const shared = await this.#read(reply[1]);
    const own = await this.#ownAccounts();
    const changes: (readonly [string, string | Buffer])[] = [];
    for (const [field, account] of own) {
      const other = shared.get(field);
      if (other && "signedOutAt" in other) {
        if (other.signedOutAt >= issuedAt(account)) await local.remove(account.name);
        else changes.push([field, await this.#pack(account)]);
        continue;
      }
      if (other && this.#isYounger(other, account)) await local.write(other);
      else if (!other || issuedAt(other) < issuedAt(account)) changes.push([field, await this.#pack(account)]);
      if (other) this.#seen.set(field, other.savedAt);
    }
    const listed = new Set(local.list().map(({ name }) => name));
    const unread: string[] = [];
    for (const [field, account] of shared) {
      if (own.has(field) || "signedOutAt" in account) continue;
      if (!this.#known.has(field)) await local.write(account);
      // It was here, so it was signed out here, or it cannot be read now, for example while the keychain is locked.
      else if (listed.has(account.name)) unread.push(field);
      else changes.push([field, `-${Date.now()}`]);
    }
    if (changes.length > 0) await this.#put(changes);
    this.#known = new Set([...(await this.#ownAccounts()).keys(), ...unread]);
    this.#stamp = local.stamp();
    this.#version = String(reply[0]);
  }

  /** Tokens tell seconds, so of two from one second the one counts that was shared after this node has looked. */
  #isYounger(shared: SharedAccount, own: Account): boolean {
    const [theirs, ours] = [issuedAt(shared), issuedAt(own)];
    if (theirs !== ours) return theirs > ours;
    const isOther = shared.login.access?.reveal() !== own.login.access?.reveal();
    return isOther && shared.savedAt > (this.#seen.get(fieldOf(own)) ?? 0);
  }

  async #ownAccounts(): Promise<ReadonlyMap<string, Account>> {
    const { local } = this.#options;
    const accounts = await Promise.all(local.list().map(({ name }) => local.read(name)));
    return new Map(accounts.flatMap((account) => (account ? [[fieldOf(account), account] as const] : [])));
  }

  async #read(flat: unknown): Promise<ReadonlyMap<string, SharedAccount | SignedOut>> {
    const values: readonly unknown[] = Array.isArray(flat) ? flat : [];
    const found = new Map<string, SharedAccount | SignedOut>();
    for (let at = 0; at + 1 < values.length; at += 2) {
      const field = String(values[at]);
      const value = values[at + 1];
      const signedOutAt = SIGNED_OUT.exec(String(value))?.[1];
      if (signedOutAt !== undefined) found.set(field, { signedOutAt: Number(signedOutAt) });
      const json = await this.#options.packing.unpack(value, field);
      if (json) found.set(field, parseAccount(json.toString()));
    }
    return found;
  }

  #pack(account: Account): Promise<Buffer> {
    const { name, origin, login } = account;
    const savedAt = Date.now();
    this.#seen.set(fieldOf(account), savedAt);
    const written = { name, origin, access: login.access?.reveal(), seed: formatSeed(login), savedAt };
    return this.#options.packing.pack(JSON.stringify(written), fieldOf(account));
  }

  async #put(changes: readonly (readonly [string, string | Buffer])[]): Promise<void> {
    await this.#options.link.ask(
      (client) => PUT.run(client, this.#keys, [String(TTL_MS), ...changes.flat()]),
      () => undefined,
    );
  }
}

const fieldOf = ({ name, origin }: Pick<Account, "name" | "origin">): string => digest(JSON.stringify([origin, name]));

function parseAccount(json: string): SharedAccount {
  const { name, origin, access, seed, savedAt } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return {
    name: String(name),
    origin: String(origin),
    savedAt: Number(savedAt),
    login: { access: secretOf(access), ...parseSeed(typeof seed === "string" ? seed : "") },
  };
}

/** Of two logins of an account, the one whose token is younger counts. */
const issuedAt = ({ login }: Account): number =>
  login.access ? (readClaims(login.access.reveal()).issuedAtMs ?? 0) : 0;
