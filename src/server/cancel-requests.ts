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

const revoked = () => new ExcursorError("key_revoked", [], { hint: null, retryable: false });
