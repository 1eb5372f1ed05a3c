import { createHash, createHmac, randomUUID } from "node:crypto";
import { ErrorDetails_Error } from "../gen/aiserver/v1/error_pb.ts";
import { ConnectFailure, type FailureDetails } from "../wire/connect/connect-failure.ts";
import type { SimExchange } from "./sim-exchange.ts";

/** A caller. Any non-empty token is an account of its own, and no state is kept for it. */
export interface Account {
  /** A JWT's subject, else the token itself. The simulator has nothing to protect. */
  readonly id: string;
  readonly token: string;
}

/**
 * Returns the account of a request. Rejects tokens that begin with `invalid`, and expired JWTs. Does not check
 * signatures, because tests make their own tokens.
 */
export function authenticate(exchange: SimExchange): Account {
  const token = /^Bearer (.*)$/is.exec(exchange.header("authorization") ?? "")?.[1]?.trim() ?? "";
  return accountOf(token);
}

export function accountOf(token: string): Account {
  if (token === "") throw unauthenticated(NOT_LOGGED_IN);
  if (token.startsWith("invalid")) throw refused();
  const claims = readClaims(token);
  if (claims?.exp !== undefined && claims.exp * 1000 <= Date.now()) throw refused();
  return { id: claims?.sub ?? token, token };
}

export const refused = () =>
  unauthenticated({
    error: ErrorDetails_Error.UNAUTHORIZED,
    title: "Unauthorized request.",
    detail: "User is unauthorized",
  });

const NOT_LOGGED_IN: FailureDetails = {
  error: ErrorDetails_Error.NOT_LOGGED_IN,
  title: "Authentication error",
  detail: "If you are logged in, try logging out and back in.",
  actionRequired: "login",
};

const unauthenticated = (details: FailureDetails) =>
  new ConnectFailure("unauthenticated", "Error", { details: { ...details, retryable: false } });

interface Claims {
  readonly sub?: string;
  readonly exp?: number;
  readonly family?: string;
}

export function readClaims(token: string): Claims | undefined {
  const payload = token.split(".")[1];
  if (token.split(".").length !== 3 || payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return undefined;
    const { sub, exp, family } = claims as Record<string, unknown>;
    return {
      ...(typeof sub === "string" ? { sub } : {}),
      ...(typeof exp === "number" ? { exp } : {}),
      ...(typeof family === "string" ? { family } : {}),
    };
  } catch {
    return undefined;
  }
}

/** Returns the subject in the tokens of a user API key or a login. */
export function subjectFor(seed: string): string {
  const name = /^[\w-]{1,64}$/.test(seed) ? seed : createHash("sha256").update(seed).digest("hex").slice(0, 16);
  return `auth0|user_${name}`;
}

/**
 * Issues a token pair. The access token lives `ttlS` seconds, the refresh token sixty days. All tokens of one login
 * belong to one family.
 */
export function issueTokens(
  sub: string,
  ttlS: number,
  family: string = randomUUID(),
): { accessToken: string; refreshToken: string } {
  const now = Math.floor(Date.now() / 1000);
  return {
    accessToken: signJwt({ sub, iat: now, exp: now + ttlS, type: "session", jti: randomUUID() }),
    refreshToken: signJwt({ sub, iat: now, exp: now + 60 * 86_400, type: "refresh", family, jti: randomUUID() }),
  };
}

function signJwt(claims: Readonly<Record<string, unknown>>): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const body = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ iss: "simulated", ...claims })}`;
  return `${body}.${createHmac("sha256", "excursor-sim").update(body).digest("base64url")}`;
}
