import { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import { H2Session, type SessionOptions } from "./h2-session.ts";
import { transportClosed } from "./network-errors.ts";

/** An exchange that waits for a session. */
export interface SessionWaiter {
  placed(session: H2Session): void;
  refused(error: ExcursorError): void;
}

/** The connections to one origin, and the exchanges that wait for one. */
export class OriginSessions {
  readonly origin: string;
  readonly limits: WireLimits;
  readonly sessions = new Set<H2Session>();
  readonly #connection: Pick<SessionOptions, "ca" | "findProxy">;
  readonly #waiters = new Set<SessionWaiter>();
  /** The peer's last known stream limit. Until the first connection is up, one is assumed to be enough. */
  #maxStreams = Number.POSITIVE_INFINITY;
  #pingIntervalMs: number;
  #isClosed = false;
  #onEmpty: Array<() => void> = [];

  constructor(origin: string, limits: WireLimits, connection: Pick<SessionOptions, "ca" | "findProxy">) {
    this.origin = origin;
    this.limits = limits;
    this.#connection = connection;
    this.#pingIntervalMs = limits.pingIntervalMs;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Assigns a session now if one has room, else as soon as one has. */
  join(waiter: SessionWaiter): void {
    if (this.#isClosed) {
      process.nextTick(() => waiter.refused(transportClosed()));
      return;
    }
    this.#waiters.add(waiter);
    this.#assign();
  }

  leave(waiter: SessionWaiter): void {
    this.#waiters.delete(waiter);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#refuse(transportClosed());
    for (const session of this.sessions) session.drain();
    if (this.sessions.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  destroy(): void {
    this.#isClosed = true;
    this.#refuse(transportClosed());
    for (const session of this.sessions) session.destroy(transportClosed());
  }

  #assign(): void {
    for (const waiter of this.#waiters) {
      const session = this.#withRoom();
      if (!session) break;
      this.#waiters.delete(waiter);
      waiter.placed(session);
    }
    let [expected, live] = [0, 0];
    for (const session of this.sessions) {
      if (session.isSpent) continue;
      live++;
      if (session.isConnecting) expected += this.#maxStreams;
      // A peer with a limit of 0 has paused; more connections would not help.
      else if (session.maxStreams === 0) expected = Number.POSITIVE_INFINITY;
    }
    for (; this.#waiters.size > expected && live < this.limits.maxSessions; live++) {
      expected += this.#maxStreams;
      this.#connect();
    }
  }

  /** Prefers the oldest, so that surplus sessions become idle. */
  #withRoom(): H2Session | undefined {
    for (const session of this.sessions) if (session.hasRoom()) return session;
    return undefined;
  }

  #connect(): void {
    try {
      this.sessions.add(this.#newSession());
    } catch (error) {
      process.nextTick(() => this.#refuse(ExcursorError.from(error)));
    }
  }

  #newSession(): H2Session {
    const session: H2Session = new H2Session({
      origin: this.origin,
      limits: this.limits,
      ...this.#connection,
      pingIntervalMs: this.#pingIntervalMs,
      onChange: () => this.#changed(session),
      onCalm: () => {
        this.#pingIntervalMs *= 2;
      },
    });
    return session;
  }

  #changed(session: H2Session): void {
    if (session.isClosed) {
      this.sessions.delete(session);
      if (session.connectError && !this.#isConnecting()) this.#refuse(session.connectError);
      if (this.sessions.size === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
    } else {
      this.#maxStreams = session.maxStreams || this.#maxStreams;
    }
    if (!this.#isClosed) this.#assign();
  }

  #isConnecting(): boolean {
    for (const session of this.sessions) if (session.isConnecting) return true;
    return false;
  }

  #refuse(error: ExcursorError): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.refused(error);
  }
}
