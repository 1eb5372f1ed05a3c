import type { Principal } from "../core/turn.ts";
import { clientFamily } from "../usage/client-family.ts";
import type { LiveRequest } from "../usage/request-recording.ts";
import type { Exchange } from "./gateway-exchange.ts";

/** What the dashboard sees of a listener. */
export interface ServerView {
  /** The recorded requests under way, oldest first. */
  requests(): readonly ServedRequest[];
  /** How many answers are streamed. */
  readonly streams: number;
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
