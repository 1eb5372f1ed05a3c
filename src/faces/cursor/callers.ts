import { hash } from "node:crypto";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { DashboardService } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { callUnary, requestJson } from "../../wire/connect/unary.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { FaceTokens } from "./face-tokens.ts";
import { type Backend, isRest, originFor } from "./relay.ts";

/** The keys of the gateway. */
export interface GatewayKeys {
  /** Returns the holder of a key; undefined if it is not a key. */
  holderOf(key: string): Principal | undefined;
  /** Returns the same holder by id, as long as the key is valid. */
  holderWithId(id: string): Principal | undefined;
}

/** The Cursor accounts that are signed in here. */
export interface SignedInAccounts {
  /** Returns whom a Cursor user is here; undefined if the user's account is not signed in. */
  principalOf(cursorUserId: number, signal: AbortSignal): Promise<Principal | undefined>;
}

/** What of a request says who its caller is. */
export type Asker = Pick<ServerExchange, "header" | "path">;

export type Caller =
  /** Holds a key of the gateway, or a token that the face gave out for one. */
  | { readonly type: "key"; readonly principal: Principal }
  /** Has a login of Cursor's, or none. */
  | { readonly type: "cursor" }
  /** Brings a token or key of ours that is not valid. It must not reach the backend. */
  | { readonly type: "refused" };

export interface CallersOptions {
  readonly keys: GatewayKeys;
  readonly accounts: SignedInAccounts;
  readonly backend: Backend;
  /** Signs the face's tokens. */
  readonly tokenSecret: Secret;
  readonly now?: (() => number) | undefined;
}

/** How long the backend's word on a token holds, and how long its refusal does. */
const CONFIRMED_MS = 5 * 60_000;
const REFUSED_MS = 10_000;
const MAX_KNOWN = 1000;
const CONFIRM_TIMEOUT_MS = 15_000;

/** Every key that the gateway makes begins so. */
const KEY_PREFIX = "exc_";

/** Says whose API key a call has. */
const ME = "/v1/me";

/** Where programs send keys. */
const KEY_HEADERS: readonly string[] = ["authorization", "x-api-key"];

interface Known {
  readonly until: number;
  readonly principal: Promise<Principal | undefined>;
}

/** Finds out who calls. */
export class Callers {
  readonly tokens: FaceTokens;
  readonly #options: CallersOptions;
  readonly #now: () => number;
  readonly #known = new BoundedMap<string, Known>(MAX_KNOWN);

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.tokens = new FaceTokens(options.tokenSecret, this.#now);
  }

  identify(asker: Asker): Caller {
    const token = bearerOf(asker) ?? basicUserOf(asker);
    const { keys } = this.#options;
    if (token !== undefined && FaceTokens.isOne(token)) {
      const id = this.tokens.read(token);
      const principal = id === undefined ? undefined : keys.holderWithId(id);
      return principal ? { type: "key", principal } : REFUSED;
    }
    const principal = token === undefined ? undefined : keys.holderOf(token);
    if (principal) return { type: "key", principal };
    return hasKeyOfOurs(asker) ? REFUSED : CURSOR;
  }

  /** Returns whom the caller is here; undefined if our models are not for them. The backend confirms logins of Cursor's. */
  async principalOf(asker: Asker): Promise<Principal | undefined> {
    const caller = this.identify(asker);
    if (caller.type === "key") return caller.principal;
    const token = bearerOf(asker);
    if (caller.type === "refused" || token === undefined) return undefined;
    // The RPC interface does not know the API keys of the REST interface.
    const asksRest = isRest(asker.path);
    const digest = hash("sha256", `${asksRest} ${token}`, "base64url");
    const known = this.#known.get(digest);
    if (known && known.until > this.#now()) return known.principal;
    return this.#ask(digest, token, asksRest);
  }

  #ask(digest: string, token: string, asksRest: boolean): Promise<Principal | undefined> {
    const signal = AbortSignal.timeout(CONFIRM_TIMEOUT_MS);
    const asked = this.#userIdOf(token, asksRest, signal).then((id) =>
      id ? this.#options.accounts.principalOf(id, signal) : undefined,
    );
    this.#known.set(digest, { until: this.#now() + CONFIRM_TIMEOUT_MS, principal: asked });
    void asked.then(
      (principal) => {
        const until = this.#now() + (principal ? CONFIRMED_MS : REFUSED_MS);
        this.#known.set(digest, { until, principal: asked });
      },
      // The next call asks again.
      () => this.#known.delete(digest),
    );
    return asked;
  }

  /** The backend's word, never the token's own: anybody can write a token. */
  async #userIdOf(token: string, asksRest: boolean, signal: AbortSignal): Promise<number | undefined> {
    const { backend } = this.#options;
    const headers = { authorization: `Bearer ${token}` };
    const call = { transport: backend.transports.h1, origin: backend.origin, headers, signal };
    try {
      if (!asksRest) {
        const rpc = { ...headers, "connect-protocol-version": "1" };
        return (
          await callUnary({ ...call, headers: rpc, method: DashboardService.method.getMe, input: {}, codec: "proto" })
        ).userId;
      }
      const { userId } = (await requestJson({ ...call, origin: originFor(ME, backend), path: ME })) as {
        readonly userId?: unknown;
      };
      return typeof userId === "number" ? userId : undefined;
    } catch (thrown) {
      const error = ExcursorError.from(thrown);
      if (error.kind === "unauthenticated" || error.kind === "forbidden") return undefined;
      throw error;
    }
  }
}

const CURSOR: Caller = { type: "cursor" };
const REFUSED: Caller = { type: "refused" };

export const bearerOf = (asker: Asker): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(asker.header("authorization") ?? "")?.[1];

/** Cursor's REST interface also takes an API key as the user of Basic authentication. */
function basicUserOf(asker: Asker): string | undefined {
  const encoded = /^Basic +(\S+) *$/i.exec(asker.header("authorization") ?? "")?.[1];
  return encoded && Buffer.from(encoded, "base64").toString("utf8").split(":", 1)[0];
}

/** True if a key or token of ours is in the request, also where or how we do not accept it. */
function hasKeyOfOurs(asker: Asker): boolean {
  const given = [...KEY_HEADERS.map((name) => asker.header(name) ?? ""), basicUserOf(asker) ?? ""];
  return given
    .flatMap((text) => text.split(/[\s"',:=]+/))
    .some((word) => word.startsWith(KEY_PREFIX) || FaceTokens.isOne(word));
}

export const invalidToken = (): ExcursorError =>
  new ExcursorError("unauthenticated", "This key or token of Excursor is not valid, or no longer.", {
    hint: "`excursor key` prints the key. Sign in again with it.",
  });
