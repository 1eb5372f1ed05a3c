import { Secret } from "../core/secret.ts";
import { readClaims } from "../core/token-claims.ts";

/** What signs an account in: a token for now, and what a new one can be had for. */
export interface Login {
  readonly access: Secret | undefined;
  readonly refresh: Secret | undefined;
  readonly apiKey: Secret | undefined;
}

/** A token is renewed this long before its time is over, or at half of its life if that is short. */
const MARGIN_MS = 60_000;

/** How long a token that was issued just now may be used. One that does not say is good until the backend refuses it. */
export function lifeOf(access: Secret, nowMs: number): number {
  const { issuedAtMs = nowMs, expiresAtMs = Number.POSITIVE_INFINITY } = readClaims(access.reveal());
  const lifeMs = expiresAtMs - issuedAtMs;
  return lifeMs - Math.min(MARGIN_MS, lifeMs / 2);
}

/** Whether a token need not be renewed yet, by its own account. */
export function isFresh(access: Secret | undefined, nowMs: number): boolean {
  if (!access) return false;
  const { issuedAtMs = nowMs } = readClaims(access.reveal());
  return nowMs < issuedAtMs + lifeOf(access, nowMs);
}

/** When its time is over. */
export const expiryOf = (access: Secret): number => readClaims(access.reveal()).expiresAtMs ?? Number.POSITIVE_INFINITY;

/** Whether its time is not over yet, to the last second. */
export const isAlive = (access: Secret | undefined, nowMs: number): boolean =>
  access !== undefined && nowMs < expiryOf(access);

export const canRenew = ({ refresh, apiKey }: Login): boolean => refresh !== undefined || apiKey !== undefined;

/** `refresh|apiKey`, the one text that other programs keep a login in; without a key there is no bar. */
export function formatSeed({ refresh, apiKey }: Login): string {
  const [token, key] = [refresh?.reveal() ?? "", apiKey?.reveal()];
  return key === undefined ? token : `${token}|${key}`;
}

export function parseSeed(text: string): Pick<Login, "refresh" | "apiKey"> {
  const [token = "", key = ""] = text.split("|");
  return { refresh: secretOf(token), apiKey: secretOf(key) };
}

/** Undefined for what is empty, or no text at all. */
export function secretOf(text: unknown): Secret | undefined {
  return typeof text === "string" && text.trim() !== "" ? new Secret(text.trim()) : undefined;
}
