import { readClaims } from "../core/access/token-claims.ts";
import { Secret } from "../core/secret.ts";

/** The secrets that sign an account in: an access token, and what it can be renewed with. */
export interface Login {
  readonly access: Secret | undefined;
  readonly refresh: Secret | undefined;
  readonly apiKey: Secret | undefined;
}

/** A token is renewed this long before it expires, or at half of its lifetime if that is shorter. */
const MARGIN_MS = 60_000;

/**
 * Returns how long a newly issued token may be used. A token without an expiry is used until the backend refuses it.
 */
export function lifeOf(access: Secret, nowMs: number): number {
  const { issuedAtMs = nowMs, expiresAtMs = Number.POSITIVE_INFINITY } = readClaims(access.reveal());
  const lifeMs = expiresAtMs - issuedAtMs;
  return lifeMs - Math.min(MARGIN_MS, lifeMs / 2);
}

/** True if a token need not be renewed yet, according to its claims. */
export function isFresh(access: Secret | undefined, nowMs: number): boolean {
  if (!access) return false;
  const { issuedAtMs = nowMs } = readClaims(access.reveal());
  return nowMs < issuedAtMs + lifeOf(access, nowMs);
}

export const expiryOf = (access: Secret): number => readClaims(access.reveal()).expiresAtMs ?? Number.POSITIVE_INFINITY;

/** True if it has not expired, without any margin. */
export const isAlive = (access: Secret | undefined, nowMs: number): boolean =>
  access !== undefined && nowMs < expiryOf(access);

export const canRenew = ({ refresh, apiKey }: Login): boolean => refresh !== undefined || apiKey !== undefined;

/** Formats a login as `refresh|apiKey`, the form in which other programs store it. Without a key there is no bar. */
export function formatSeed({ refresh, apiKey }: Login): string {
  const [token, key] = [refresh?.reveal() ?? "", apiKey?.reveal()];
  return key === undefined ? token : `${token}|${key}`;
}

export function parseSeed(text: string): Pick<Login, "refresh" | "apiKey"> {
  const [token = "", key = ""] = text.split("|");
  return { refresh: secretOf(token), apiKey: secretOf(key) };
}

/** Returns undefined if the value is empty or not a string. */
export function secretOf(text: unknown): Secret | undefined {
  return typeof text === "string" && text.trim() !== "" ? new Secret(text.trim()) : undefined;
}
