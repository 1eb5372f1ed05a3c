import { hash } from "node:crypto";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { DashboardService } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { callUnary, requestJson } from "../../wire/connect/unary.ts";
import { type ServerExchange, STRANGERS } from "../../wire/http/server-exchange.ts";
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
export type Asker = Pick<ServerExchange, "header" | "path" | "target" | "query" | "request">;

export type Caller =
  /** Holds a key of the gateway, or a token that the face gave out for one. */
  | { readonly type: "key"; readonly principal: Principal }
  /** Has a login of Cursor's, or none. */
  | { readonly type: "cursor" }
  /** Brings a key or token of ours that is not valid, or in a place where none belongs. It must not reach the backend. */
  | { readonly type: "refused"; readonly given: string };

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

/** No key of the user's own choice is shorter, and no key is longer. */
const MIN_CHOSEN = 20;
const MAX_KEY = 512;

/** Says whose API key a call has. */
const ME = "/v1/me";

interface Known {
  readonly until: number;
  readonly principal: Promise<Principal | undefined>;
  /** The id of the principal, once it is known. */
  readonly id?: string | undefined;
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
    const principal = token === undefined ? undefined : this.#holderOf(token);
    if (principal) return { type: "key", principal };
    const given = textsOf(asker)
      .flatMap(wordsOf)
      .find((word) => hasOurForm(word) || this.#holderOf(word));
    return given === undefined ? CURSOR : { type: "refused", given };
  }

  #holderOf(word: string): Principal | undefined {
    const { keys } = this.#options;
    if (!FaceTokens.isOne(word)) {
      const mayBeOne = word.length <= MAX_KEY && (word.length >= MIN_CHOSEN || hasOurForm(word));
      return mayBeOne ? keys.holderOf(word) : undefined;
    }
    const id = this.tokens.read(word);
    return id === undefined ? undefined : keys.holderWithId(id);
  }

  /** Returns whom the caller is here; undefined if our models are not for them. The backend confirms logins of Cursor's. */
  async principalOf(asker: Asker): Promise<Principal | undefined> {
    const caller = this.identify(asker);
    if (caller.type === "key") return caller.principal;
    const token = bearerOf(asker);
    if (caller.type === "refused" || token === undefined) return undefined;
    const asksRest = isRest(asker.path);
    const digest = digestOfCaller(asker) ?? "";
    const known = this.#known.get(digest);
    if (known && known.until > this.#now()) return known.principal;
    return this.#ask(digest, token, asksRest);
  }

  /** Whose share of the budget a call uses before its body is read. All callers that are not known share one. */
  senderOf(asker: Asker, caller: Caller): string {
    if (caller.type === "key") return caller.principal.id;
    const known = this.#known.get(digestOfCaller(asker) ?? "");
    return (known && known.until > this.#now() && known.id) || STRANGERS;
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
        this.#known.set(digest, { until, principal: asked, id: principal?.id });
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

export const bearerOf = (asker: Asker): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(asker.header("authorization") ?? "")?.[1];

/** The RPC interface does not know the API keys of the REST interface. */
function digestOfCaller(asker: Asker): string | undefined {
  const token = bearerOf(asker);
  return token === undefined ? undefined : hash("sha256", `${isRest(asker.path)} ${token}`, "base64url");
}

/** Cursor's REST interface also takes an API key as the user of Basic authentication. */
const basicUserOf = (asker: Asker): string | undefined => decodeBasic(asker)?.split(":", 1)[0];

function decodeBasic(asker: Asker): string | undefined {
  const encoded = /^Basic +(\S+) *$/i.exec(asker.header("authorization") ?? "")?.[1];
  return encoded && Buffer.from(encoded, "base64").toString("utf8");
}

/** All that a request says beside its body. */
const textsOf = (asker: Asker): readonly string[] => [
  ...asker.request.rawHeaders.filter((_, at) => at % 2 === 1),
  decodeBasic(asker)?.replace(/:$/, "") ?? "",
  asker.target,
  ...asker.query.values(),
];

/** The words of a text in which a key may be. One that somebody chose may have any mark inside. */
const wordsOf = (text: string): readonly string[] => [...text.split(/\s+/), ...text.split(/[\s"',:;=/?&]+/)];

const hasOurForm = (word: string): boolean => word.startsWith(KEY_PREFIX) || FaceTokens.isOne(word);

export const invalidToken = (): ExcursorError =>
  new ExcursorError("unauthenticated", "This key or token of Excursor is not valid, or no longer.", {
    hint: "`excursor key` prints the key. Sign in again with it.",
  });
