import type { IncomingHttpHeaders } from "node:http";
import type { ClusterKeys } from "./cluster-keys.ts";
import type { SeenNonces } from "./seen-nonces.ts";

/** How far the time of a request for a connection may be from that of the cluster. */
export const MAX_AGE_MS = 60_000;

export const CONNECT_PATH = "/cluster/v1";

/** In the header `upgrade`. */
export const PROTOCOL = "excursor-cluster";

const TIME = "x-excursor-time";
const NONCE = "x-excursor-nonce";
const PROOF = "x-excursor-proof";

const NONCE_FORM = /^[\w-]{22}$/;

/** What a proof covers. A request is for one process only: a restarted gateway has another tag. */
export interface ProvenHead {
  readonly path: string;
  /** The tag of the gateway that is asked. */
  readonly to: string;
  /** By the clock of the cluster, in ms. */
  readonly timeMs: number;
  readonly nonce: string;
}

/** Returns the headers that prove a request for a connection. What the connection carries is proven frame by frame. */
export function proveRequest(keys: ClusterKeys, { path, to, timeMs, nonce }: ProvenHead): Record<string, string> {
  const time = String(Math.round(timeMs));
  return { [TIME]: time, [NONCE]: nonce, [PROOF]: keys.prove("request", "GET", path, to, time, nonce) };
}

export type RequestCheck =
  | { readonly type: "proven"; readonly nonce: string }
  | { readonly type: "refused"; readonly reason: "forged" | "expired" | "replayed" };

/** Checks a request for a connection. The nonce of a proven request is used up. */
export function checkRequest(
  keys: ClusterKeys,
  headers: IncomingHttpHeaders,
  { path, to, nowMs, seen }: { path: string; to: string; nowMs: number; seen: SeenNonces },
): RequestCheck {
  const [time, nonce, proof] = [headers[TIME], headers[NONCE], headers[PROOF]].map((value) => String(value ?? ""));
  if (time === undefined || nonce === undefined || proof === undefined || !NONCE_FORM.test(nonce)) {
    return { type: "refused", reason: "forged" };
  }
  if (!keys.isProof(proof, "request", "GET", path, to, time, nonce)) return { type: "refused", reason: "forged" };
  if (!(Math.abs(nowMs - Number(time)) <= MAX_AGE_MS)) return { type: "refused", reason: "expired" };
  return seen.use(nonce, nowMs) ? { type: "proven", nonce } : { type: "refused", reason: "replayed" };
}

/** Returns the header by which the gateway that is asked proves that it has the secret, too. */
export const proveAnswer = (keys: ClusterKeys, nonce: string): Record<string, string> => ({
  [PROOF]: keys.prove("answer", nonce),
});

export const isProvenAnswer = (keys: ClusterKeys, headers: IncomingHttpHeaders, nonce: string): boolean =>
  keys.isProof(String(headers[PROOF] ?? ""), "answer", nonce);
