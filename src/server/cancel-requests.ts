import { ExcursorError } from "../core/errors.ts";
import type { Principal } from "../core/turn.ts";
import type { Exchange } from "./gateway-exchange.ts";

/** Cancels the requests of revoked keys. New ones are refused by the gate. */
export function cancelRevoked(active: Iterable<Exchange>, isRevoked: (principal: Principal) => boolean): void {
  for (const exchange of active) {
    const { principal } = exchange;
    if (principal && isRevoked(principal)) exchange.cancel(revoked());
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

const revoked = () => new ExcursorError("key_revoked", [], { hint: null, retryable: false });
