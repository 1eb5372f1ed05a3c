import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { BoundedMap } from "../core/bounded-map.ts";
import { Secret } from "../core/secret.ts";

/** How long a browser stays signed in. */
export const SESSION_MS = 12 * 3_600_000;

/** Browsers that may be signed in at once. The oldest session ends when another one begins. */
const MAX_SESSIONS = 16;

/** One browser that has opened a one-time link. */
export class Session {
  /** Sent with every request that changes something. The page reads it; another site cannot. */
  readonly csrf = new Secret(newToken());
  readonly endsAt: number;
  /** How many feeds it has open. */
  feeds = 0;

  constructor(endsAt: number) {
    this.endsAt = endsAt;
  }

  /** True if the token is this session's. */
  allows(csrf: string | undefined): boolean {
    const [given, right] = [csrf ?? "", this.csrf.reveal()].map((text) => Buffer.from(text));
    return given?.length === right?.length && timingSafeEqual(given as Buffer, right as Buffer);
  }
}

/** The sessions of the dashboard, in memory: a restart of the gateway ends them. Only digests of the cookies are kept. */
export class Sessions {
  /** By the digest of the cookie. */
  readonly #sessions = new BoundedMap<string, Session>(MAX_SESSIONS);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Begins a session and returns the value of its cookie. */
  begin(): Secret {
    const cookie = newToken();
    this.#sessions.set(digestOf(cookie), new Session(this.#now() + SESSION_MS));
    return new Secret(cookie);
  }

  /** Returns the session of a cookie, unless it is over. */
  find(cookie: string | undefined): Session | undefined {
    if (cookie === undefined) return undefined;
    const digest = digestOf(cookie);
    const session = this.#sessions.get(digest);
    if (!session || this.isLive(session)) return session;
    this.#sessions.delete(digest);
    return undefined;
  }

  /** False once the session has ended. */
  isLive(session: Session): boolean {
    return this.#now() < session.endsAt && [...this.#sessions.values()].includes(session);
  }

  end(session: Session): void {
    for (const [digest, one] of this.#sessions) if (one === session) this.#sessions.delete(digest);
  }
}

const newToken = (): string => randomBytes(32).toString("base64url");
const digestOf = (cookie: string): string => hash("sha256", cookie, "base64url");
