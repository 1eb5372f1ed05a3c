import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Limits } from "../../config/limits.ts";
import type { Awaitable } from "../../core/awaitable.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { Refusal } from "../refusal.ts";
import { checkHost, createHostList } from "./host-list.ts";
import { createIdentify, type Identity, OWNER } from "./keys/caller-keys.ts";
import type { KnownKeys } from "./keys/known-keys.ts";
import { missingKey, WrongKeys } from "./keys/wrong-keys.ts";
import { checkOrigin, createOriginList, type OriginList } from "./origin-list.ts";
import { checkPage, needsNoKey, type PageAccess } from "./page-access.ts";
import { createPeerCheck } from "./peer-user.ts";

export interface GateOptions {
  /** The address of the listener. */
  readonly host: string;
  readonly port: number;
  readonly key: Secret;
  readonly allowsTokens: boolean;
  readonly keys?: KnownKeys | undefined;
  /** Additional host names and web origins. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Set if the listener serves one page and programs of the same user. */
  readonly page?: PageAccess | undefined;
  /** Lets all programs of the same user in as the owner, and needs no key. */
  readonly trustsUser?: boolean | undefined;
  /** True for a connection through the door, which only the owner can open. */
  readonly isOwners?: (socket: Socket) => boolean;
  readonly limits: Limits;
  readonly now?: (() => number) | undefined;
}

/**
 * Checks every request before its body is read: headers, Host, Origin, key, content type, then the user of the peer where the
 * listener is for one user. Throws a {@link Refusal}, else returns the principal. Returns undefined on an open route if no key was sent.
 */
export type Gate = (
  request: IncomingMessage,
  isOpen: boolean,
  /** Keys from places that only the request's face knows. */
  keys?: readonly string[],
) => Awaitable<Principal | undefined>;

export function createGate(options: GateOptions): Gate {
  const { page } = options;
  const checkSite = createSiteCheck({ ...options, origins: [...options.origins, ...(page ? [page.origin] : [])] });
  const identify = createIdentify(options);
  const wrongKeys = new WrongKeys(options.limits.wrongKeysPerMinute, options.now);
  const checkPeer = page || options.trustsUser ? createPeerCheck() : undefined;
  const check = (request: IncomingMessage, isOpen: boolean, keys: readonly string[] = []): Principal | undefined => {
    checkSite(request);
    if (options.trustsUser) {
      checkContent(request);
      return OWNER;
    }
    if (page) checkPage(request, page);
    const isKeyless = options.isOwners?.(request.socket) || (page !== undefined && needsNoKey(request, page));
    const identity = withoutKey(identify(request, keys), isKeyless);
    if (identity.type === "wrong" && !isOpen) {
      const refusal = wrongKeys.refuse(request.socket.remoteAddress ?? "", identity.digest);
      throw page ? withoutInvitation(refusal) : refusal;
    }
    if (identity.type === "missing" && !isOpen) throw page ? withoutInvitation(missingKey()) : missingKey();
    checkContent(request);
    return identity.type === "known" ? identity.principal : undefined;
  };
  if (!checkPeer) return check;
  return async (request, isOpen, keys) => {
    const principal = check(request, isOpen, keys);
    await checkPeer(request.socket);
    return principal;
  };
}

export type SiteOptions = Pick<GateOptions, "host" | "port" | "hosts" | "limits" | "page"> & {
  /** Absent: no page at all may send requests, not even one of ours. */
  readonly origins?: readonly string[];
};

/** Returns the checks of a request that do not depend on its caller: form, Host and Origin. */
export function createSiteCheck({ host, port, limits, page, ...given }: SiteOptions): (request: SentHead) => void {
  const hosts = createHostList(host, port, given.hosts);
  const origins: OriginList = given.origins ? createOriginList(hosts, port, given.origins) : new Set();
  return (request) => {
    checkForm(request, limits);
    checkHost(request, hosts);
    checkOrigin(request, origins, given.origins !== undefined && page === undefined);
  };
}

/** The head of a request of either version of HTTP. */
type SentHead = Pick<IncomingMessage, "url" | "headers" | "rawHeaders">;

/** Accepts a request without a key where none is needed. A key that is sent must still be right. */
const withoutKey = (identity: Identity, isEnough: boolean): Identity =>
  isEnough && identity.type === "missing" ? { type: "known", principal: OWNER } : identity;

/** Turns 401 into 403 for the bridge: there is no other key to try (SEC-45). */
function withoutInvitation(refusal: Refusal): Refusal {
  if (refusal.status !== 401) return refusal;
  const { message, code } = refusal;
  return new Refusal(403, code as ErrorCode, message, {
    kind: "forbidden",
    hint: "`excursor key --bridge` prints it.",
  });
}

function checkForm({ url = "", rawHeaders }: SentHead, { headerCount }: Limits): void {
  if (rawHeaders.length / 2 > headerCount) {
    throw new Refusal(431, "too_many_headers", [headerCount]);
  }
  // The absolute form is for proxies; here it could smuggle in another host.
  if (!url.startsWith("/")) {
    throw new Refusal(400, "bad_target");
  }
}

/** Requires JSON of a POST: a page cannot send it without a preflight (SEC-07). DELETE always needs one. */
function checkContent({ method = "", headers }: IncomingMessage): void {
  if (method !== "POST") return;
  const type = headers["content-type"] ?? "";
  if (!/^application\/json *(?:;[^,]*)?$/i.test(type) || !/^(?:identity)?$/i.test(headers["content-encoding"] ?? "")) {
    throw new Refusal(415, "unsupported_media_type");
  }
}
