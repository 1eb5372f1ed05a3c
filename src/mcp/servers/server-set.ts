import { hash } from "node:crypto";
import { Secret } from "../../core/secret.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * The servers of one principal, each with its own connection, so that no server state is shared between principals
 * (SEC-30). Follows changes of the settings; unchanged servers are kept.
 */
export class ServerSet {
  readonly #create: (server: ServerConfig) => ServerConnection;
  #entries: ReadonlyMap<string, { readonly digest: string; readonly connection: ServerConnection }> = new Map();
  #connecting: Promise<void> | undefined;
  #since = 0;
  #waiting = 0;

  constructor(create: (server: ServerConfig) => ServerConnection) {
    this.#create = create;
  }

  get connections(): readonly ServerConnection[] {
    return [...this.#entries.values()].map(({ connection }) => connection);
  }

  /** True if a call is under way, or a request waits for the servers. */
  get isBusy(): boolean {
    return this.#waiting > 0 || this.connections.some(({ isBusy }) => isBusy);
  }

  /** Applies a new list of servers. A removed or changed server ends after its last call. */
  follow(servers: readonly ServerConfig[]): void {
    const before = this.#entries;
    this.#entries = new Map(
      servers
        .filter(({ isDisabled }) => !isDisabled)
        .map((server) => {
          const digest = digestOf(server);
          const kept = before.get(server.name);
          return [server.name, kept?.digest === digest ? kept : { digest, connection: this.#create(server) }] as const;
        }),
    );
    for (const [name, { connection }] of before) {
      if (this.#entries.get(name)?.connection !== connection) void connection.retire();
    }
    if (this.#connecting) {
      this.#connecting = undefined;
      void this.connect();
    }
  }

  /** Connects all servers. Resolves when each is ready or has failed. */
  connect(): Promise<void> {
    if (!this.#connecting) {
      this.#since = performance.now();
      this.#connecting = Promise.allSettled(this.connections.map((connection) => connection.connect())).then(() => {});
    }
    return this.#connecting;
  }

  /** Returns how much of this time is left since the servers were started. */
  patience(ms: number): number {
    return Math.max(0, this.#since + ms - performance.now());
  }

  /** Marks the set as busy while a request waits for its servers. */
  async holdFor(work: Promise<void>): Promise<void> {
    this.#waiting++;
    try {
      await work;
    } finally {
      this.#waiting--;
    }
  }

  /** Reconnects servers that had refused us. */
  retry(): void {
    for (const connection of this.connections) void connection.retry();
  }

  /** Stops the running servers; the next call starts them again. */
  async rest(): Promise<void> {
    // Failed servers are tried again by the next request, not before.
    if (this.connections.some(({ error }) => error)) this.#connecting = undefined;
    await Promise.all(this.connections.map((connection) => connection.rest()));
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.close()));
  }
}

/** Identifies a configuration. Contains hashed secrets: compare it, never show it. */
function digestOf(server: ServerConfig): string {
  const text = JSON.stringify(server, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    const plain = this[key];
    return plain instanceof Secret ? plain.reveal() : value;
  });
  return hash("sha256", text, "base64url");
}
