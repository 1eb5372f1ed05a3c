import type { Principal } from "../core/turn.ts";
import { clientFamily } from "../usage/record/client-family.ts";
import type { LiveRequest } from "../usage/record/request-recording.ts";
import type { Exchange, GatewayExchange } from "./gateway-exchange.ts";

/** What the dashboard sees of a listener. */
export interface ServerView {
  /** The recorded requests under way, oldest first. */
  requests(): readonly ServedRequest[];
  /** How many answers are streamed. */
  readonly streams: number;
  /**
   * Serves a request as the owner's, by the route that the rest of its path names after this prefix. Its caller has
   * checked who sent it. It is recorded and limited as any other request, and its errors have the form of that route.
   */
  serveAsOwner(exchange: GatewayExchange, prefix: string): Promise<void>;
}

export interface ServedRequest extends LiveRequest {
  readonly id: string;
  readonly keyName: string;
  readonly client: string;
  readonly route: string;
}

export function liveRequests(
  active: Iterable<Exchange>,
  keyName: (principal: Principal) => string,
): readonly ServedRequest[] {
  return [...active].flatMap(({ id, recording, principal, request, notes }) =>
    recording && principal
      ? [
          {
            id,
            keyName: keyName(principal),
            client: clientFamily(request.headers["user-agent"]),
            route: notes.route,
            ...recording.live(),
          },
        ]
      : [],
  );
}
