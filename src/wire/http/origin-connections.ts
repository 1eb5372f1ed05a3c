import { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import { H2Connection, type H2ConnectionOptions } from "./h2-connection.ts";
import { transportClosed } from "./network-errors.ts";

/** An exchange that waits for a connection. */
export interface ConnectionWaiter {
  placed(connection: H2Connection): void;
  refused(error: ExcursorError): void;
}

/** The connections to one origin, and the exchanges that wait for one. */
export class OriginConnections {
  readonly origin: string;
  readonly limits: WireLimits;
  readonly connections = new Set<H2Connection>();
  readonly #connection: Pick<H2ConnectionOptions, "ca" | "findProxy">;
  readonly #waiters = new Set<ConnectionWaiter>();
  /** The peer's last known stream limit. Until the first connection is up, one is assumed to be enough. */
  #maxStreams = Number.POSITIVE_INFINITY;
  #pingIntervalMs: number;
  #isClosed = false;
  #onEmpty: Array<() => void> = [];

  constructor(origin: string, limits: WireLimits, connection: Pick<H2ConnectionOptions, "ca" | "findProxy">) {
    this.origin = origin;
    this.limits = limits;
    this.#connection = connection;
    this.#pingIntervalMs = limits.pingIntervalMs;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Assigns a connection now if one has room, else as soon as one has. */
  join(waiter: ConnectionWaiter): void {
    if (this.#isClosed) {
      process.nextTick(() => waiter.refused(transportClosed()));
      return;
    }
    this.#waiters.add(waiter);
    this.#assign();
  }

  leave(waiter: ConnectionWaiter): void {
    this.#waiters.delete(waiter);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#refuse(transportClosed());
    for (const connection of this.connections) connection.drain();
    if (this.connections.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }

  destroy(): void {
    this.#isClosed = true;
    this.#refuse(transportClosed());
    for (const connection of this.connections) connection.destroy(transportClosed());
  }

  #assign(): void {
    for (const waiter of this.#waiters) {
      const connection = this.#withRoom();
      if (!connection) break;
      this.#waiters.delete(waiter);
      waiter.placed(connection);
    }
    let [expected, live] = [0, 0];
    for (const connection of this.connections) {
      if (connection.isSpent) continue;
      live++;
      if (connection.isConnecting) expected += this.#maxStreams;
      // A peer with a limit of 0 has paused; more connections would not help.
      else if (connection.maxStreams === 0) expected = Number.POSITIVE_INFINITY;
    }
    for (; this.#waiters.size > expected && live < this.limits.maxConnections; live++) {
      expected += this.#maxStreams;
      this.#connect();
    }
  }

  /** Prefers the oldest, so that surplus connections become idle. */
  #withRoom(): H2Connection | undefined {
    for (const connection of this.connections) if (connection.hasRoom()) return connection;
    return undefined;
  }

  #connect(): void {
    try {
      this.connections.add(this.#newConnection());
    } catch (error) {
      process.nextTick(() => this.#refuse(ExcursorError.from(error)));
    }
  }

  #newConnection(): H2Connection {
    const connection: H2Connection = new H2Connection({
      origin: this.origin,
      limits: this.limits,
      ...this.#connection,
      pingIntervalMs: this.#pingIntervalMs,
      onChange: () => this.#changed(connection),
      onCalm: () => {
        this.#pingIntervalMs *= 2;
      },
    });
    return connection;
  }

  #changed(connection: H2Connection): void {
    if (connection.isClosed) {
      this.connections.delete(connection);
      if (connection.connectError && !this.#isConnecting()) this.#refuse(connection.connectError);
      if (this.connections.size === 0) for (const resolve of this.#onEmpty.splice(0)) resolve();
    } else {
      this.#maxStreams = connection.maxStreams || this.#maxStreams;
    }
    if (!this.#isClosed) this.#assign();
  }

  #isConnecting(): boolean {
    for (const connection of this.connections) if (connection.isConnecting) return true;
    return false;
  }

  #refuse(error: ExcursorError): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.refused(error);
  }
}
