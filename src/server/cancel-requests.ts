import { ExcursorError } from "../core/errors.ts";
import type { Principal } from "../core/turn.ts";
import { isIssued, type KnownKeys } from "./gate/keys/known-keys.ts";
import type { Exchange } from "./gateway-exchange.ts";

/** Cancels the requests of revoked keys. New ones are refused by the gate. */
export function cancelRevoked(active: Iterable<Exchange>, keys: KnownKeys): void {
  for (const exchange of active) {
    const { principal } = exchange;
    if (principal && isRevoked(principal, keys)) exchange.cancel(revoked());
  }
}

/** Cancels the requests that have reached a limit of time. */
export function cancelOverdue(active: Iterable<Exchange>): void {
  for (const exchange of active) {
    try {
      exchange.recording?.checkLimits();
    } catch (error) {
      exchange.cancel(ExcursorError.from(error));
    }
  }
}

export const isRevoked = ({ id }: Principal, keys: KnownKeys): boolean => isIssued(id) && !keys.withId(id);

const revoked = () =>
  new ExcursorError("unauthenticated", "The API key was revoked.", {
    code: "key_revoked",
    hint: null,
    retryable: false,
  });
