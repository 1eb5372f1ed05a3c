import type { IncomingMessage } from "node:http";
import { ExcursorError } from "../core/errors.ts";
import { OWNER } from "../server/gate/keys/caller-keys.ts";
import { createPeerCheck } from "../server/gate/peer-user.ts";
import { Refusal } from "../server/refusal.ts";
import { readCookie } from "./session-cookie.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Holds the session's token in requests that change something. */
const CSRF_HEADER = "x-excursor-csrf";

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

export interface Guard {
  /**
   * Refuses other users of this machine and pages of every other origin, even of those that the setting `origins` allows
   * (SEC-46). The gate has checked Host and Origin before.
   */
  checkVisitor(request: IncomingMessage): Promise<void>;
  /** Returns the session of a request. Throws without one, and if a request that changes something lacks its token. */
  checkSession(request: IncomingMessage): Promise<Session>;
}

export function createGuard(sessions: Sessions): Guard {
  const checkPeer = createPeerCheck();
  const checkVisitor = async (request: IncomingMessage): Promise<void> => {
    const { origin, host = "" } = request.headers;
    if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host) {
      throw new Refusal(403, "foreign_origin", "Only the dashboard's own page may use this.");
    }
    // Beyond loopback the peer is another machine, and only the session counts.
    if (LOOPBACK.test(request.socket.remoteAddress ?? "")) await checkPeer(request.socket);
  };
  return {
    checkVisitor,
    // The user of the peer comes last: to look it up costs the most, and a stranger has no session.
    async checkSession(request) {
      const session = sessions.find(readCookie(request));
      if (!session) throw new ExcursorError("no_session");
      await checkVisitor(request);
      const isSafe = request.method === "GET" || request.method === "HEAD";
      const token = request.headers[CSRF_HEADER];
      if (!isSafe && !session.allows(typeof token === "string" ? token : undefined)) {
        throw new ExcursorError("wrong_csrf_token", [CSRF_HEADER]);
      }
      return session;
    },
  };
}

/** Throws unless the request came with the gateway's own key. */
export function checkOwner(principal: { readonly id: string } | undefined): void {
  if (principal?.id === OWNER.id) return;
  throw new ExcursorError("owner_only");
}
