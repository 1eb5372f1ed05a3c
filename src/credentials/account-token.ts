import { hash } from "node:crypto";
import type { AccessToken } from "../core/access/access.ts";
import { readClaims } from "../core/access/token-claims.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { fileError } from "../files/file-error.ts";
import type { Account, AccountStore } from "./account-store.ts";
import { type AuthClient, renewLogin } from "./auth-client.ts";
import { canRenew, expiryOf, isAlive, isFresh, type Login, lifeOf } from "./login.ts";
import type { FoundLogin } from "./source.ts";

export interface AccountTokenParts {
  readonly store: AccountStore;
  readonly auth: AuthClient;
  readonly find: () => Promise<FoundLogin>;
  /** Milliseconds since the epoch, as in a token's claims. */
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly ticks: () => number;
  /** Called with every secret that is read, so that logs can redact it. */
  readonly onSecret: (secret: Secret) => void;
  readonly onNotice: (text: string) => void;
}

interface Held {
  readonly token: AccessToken;
  /** The store's stamp. Any change of it may mean another login. */
  readonly stamp: string;
  readonly useUntilMs: number;
  /** When the backend issued it to this process, in ticks. Undefined if it was found in a source. */
  readonly renewedAtMs: number | undefined;
}

/** How long the store counts as unchanged after a check. A check costs a tenth of a short request. */
const LOOK_MS = 10;
/** A renewed token younger than this is not renewed again when it is refused: a new one would be refused as well. */
const TOO_YOUNG_MS = 10_000;
/** How long a token is used further if it could not be renewed in time. */
const RETRY_MS = 5000;
/** How long a login that the backend rejected is not tried again, unless the store changes. */
const OVER_MS = 60_000;
/** How long a renewed login that could not be saved is used before saving is tried again. */
const UNSAVED_MS = 60_000;

/**
 * The access token of one account in this process. Concurrent callers share one lookup or renewal. The store's lock
 * does the same between processes, and the decision to renew is made while it is held.
 */
export class AccountToken {
  readonly #parts: AccountTokenParts;
  #held: Held | undefined;
  /** When the store was last found unchanged. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #work: { readonly refused: string | undefined; readonly result: Promise<AccessToken | undefined> } | undefined;
  /** The login that the backend rejected, so that it is not sent again. */
  #over: { readonly stamp: string; readonly untilTicks: number; readonly error: ExcursorError } | undefined;
  /** A renewed login that could not be saved. Only this process has it. */
  #unsaved: { readonly stamp: string; readonly login: Login } | undefined;

  constructor(parts: AccountTokenParts) {
    this.#parts = parts;
  }

  async get(): Promise<AccessToken> {
    const { now } = this.#parts;
    const held = this.#held;
    if (held && now() < held.useUntilMs && this.#isUnchanged(held.stamp)) return held.token;
    const token = await this.#once(undefined);
    if (!token) throw new ExcursorError("internal", "The stored login has no token.");
    return token;
  }

  async renew(refused: Secret): Promise<AccessToken | undefined> {
    const held = this.#held;
    if (held && held.token.token.reveal() !== refused.reveal()) return this.get();
    if (held?.renewedAtMs !== undefined && this.#parts.ticks() - held.renewedAtMs < TOO_YOUNG_MS) return undefined;
    return this.#once(refused.reveal());
  }

  #isUnchanged(stamp: string): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#lookedAt < LOOK_MS) return true;
    if (stamp !== this.#parts.store.stamp()) return false;
    this.#lookedAt = nowMs;
    return true;
  }

  #once(refused: string | undefined): Promise<AccessToken | undefined> {
    const work = this.#work;
    if (work && work.refused === refused) return work.result;
    const result = this.#load(refused).finally(() => {
      if (this.#work?.result === result) this.#work = undefined;
    });
    this.#work = { refused, result };
    return result;
  }

  async #load(refused: string | undefined): Promise<AccessToken | undefined> {
    const { store, find, now, ticks } = this.#parts;
    const stamp = store.stamp();
    if (this.#over?.stamp === stamp && ticks() < this.#over.untilTicks) throw this.#over.error;
    const { login, account, isForeign, given } = await find();
    this.#tell(login);
    const isRefused = refused !== undefined && login.access?.reveal() === refused;
    // Another program renews this token, so the sources are searched again when it expires.
    if (login.access && !isRefused && isForeign) return this.#hold(login.access, stamp, expiryOf(login.access));
    if (login.access && !isRefused && (isFresh(login.access, now()) || !canRenew(login))) {
      return this.#hold(login.access, stamp);
    }
    if (isRefused && given !== undefined) throw tokenRefused(given);
    // It cannot be renewed, or only by the program that owns it.
    if (isForeign || !canRenew(login)) return undefined;
    try {
      return account === undefined ? await this.#renewGiven(login) : await this.#renewStored(account, refused);
    } catch (thrown) {
      const error = ExcursorError.from(thrown);
      if (error.kind === "unauthenticated") {
        this.#over = { stamp: store.stamp(), untilTicks: ticks() + OVER_MS, error: loginOver(account, error) };
        throw this.#over.error;
      }
      // The token is still valid, and the next attempt to renew it may succeed.
      if (!login.access || isRefused || !isAlive(login.access, now())) throw error;
      return this.#hold(login.access, stamp, now() + RETRY_MS);
    }
  }

  /** Exchanges an API key from the environment. Nothing is stored, and the key stays valid. */
  async #renewGiven(login: Login): Promise<AccessToken | undefined> {
    const renewed = await renewLogin(this.#parts.auth, login);
    this.#tell(renewed);
    return renewed.access && this.#holdNew(renewed.access);
  }

  #renewStored(name: string, refused: string | undefined): Promise<AccessToken | undefined> {
    const { store, auth, now } = this.#parts;
    return store.lock.run(async () => {
      const account = await store.read(name);
      if (!account) throw new ExcursorError("unauthenticated", `The account "${name}" was signed out.`);
      const stamp = store.stamp();
      const unsaved = this.#unsaved?.stamp === stamp ? this.#unsaved.login : undefined;
      const login = unsaved ?? account.login;
      this.#tell(login);
      const isGood = login.access?.reveal() !== refused && isFresh(login.access, now());
      // Another process has renewed it meanwhile.
      if (isGood && !unsaved && login.access) return this.#hold(login.access, stamp);
      const renewed = isGood ? login : await renewLogin(auth, login);
      this.#tell(renewed);
      const isSaved = await this.#save({ ...account, login: renewed });
      return renewed.access && this.#holdNew(renewed.access, isSaved ? undefined : UNSAVED_MS);
    });
  }

  /** Saves a renewed login. If that fails, the new token is used all the same, and the stored login stays. */
  async #save(account: Account): Promise<boolean> {
    const { store, onNotice } = this.#parts;
    try {
      await store.write(account);
      this.#unsaved = undefined;
      return true;
    } catch (error) {
      this.#unsaved = { stamp: store.stamp(), login: account.login };
      const { message } = fileError(error, `write ${store.path}`);
      onNotice(`The renewed login of "${account.name}" cannot be written. ${message}`);
      return false;
    }
  }

  /** Computes the end from the token's lifetime, not from its expiry: the token is new, and our clock may be wrong. */
  #holdNew(access: Secret, atMostMs = Number.POSITIVE_INFINITY): AccessToken {
    const nowMs = this.#parts.now();
    const useUntilMs = nowMs + Math.min(lifeOf(access, nowMs), atMostMs);
    return this.#hold(access, this.#parts.store.stamp(), useUntilMs, this.#parts.ticks());
  }

  #hold(access: Secret, stamp: string, useUntilMs = this.#endOf(access), renewedAtMs?: number): AccessToken {
    const text = access.reveal();
    const token = { account: hash("sha256", readClaims(text).subject ?? text, "base64url"), token: access };
    this.#held = { token, stamp, useUntilMs, renewedAtMs };
    this.#lookedAt = Number.NEGATIVE_INFINITY;
    this.#over = undefined;
    return token;
  }

  #endOf(access: Secret): number {
    const nowMs = this.#parts.now();
    const { issuedAtMs = nowMs } = readClaims(access.reveal());
    const end = issuedAtMs + lifeOf(access, nowMs);
    // An expired token that cannot be renewed is used until the backend refuses it.
    return end > nowMs ? end : Number.POSITIVE_INFINITY;
  }

  #tell({ access, refresh, apiKey }: Login): void {
    for (const secret of [access, refresh, apiKey]) if (secret) this.#parts.onSecret(secret);
  }
}

/** The hint names the setting, because a given token takes precedence over any login. */
const tokenRefused = (given: string): ExcursorError => new ExcursorError("token_refused", [given]);

function loginOver(account: string | undefined, cause: ExcursorError): ExcursorError {
  const whose = account === undefined ? "The API key" : `The login of the account "${account}"`;
  // The environment takes precedence over the store, so signing in alone would not help.
  const hint =
    account === undefined
      ? "Set CURSOR_API_KEY to a valid key, or unset it and sign in: excursor login"
      : `Sign in again: excursor login --account ${account}`;
  return new ExcursorError("login_over", [whose], { hint, context: cause.context });
}
