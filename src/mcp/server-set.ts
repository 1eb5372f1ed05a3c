import { hash } from "node:crypto";
import { Secret } from "../core/secret.ts";
import type { Connection } from "./connection.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * The servers of one principal, each through a connection of its own: what a server remembers of one of them, another
 * never sees (SEC-30). Follows the settings: what has not changed in them is not touched.
 */
export class ServerSet {
  readonly #create: (server: ServerConfig) => Connection;
  #entries: ReadonlyMap<string, { readonly digest: string; readonly connection: Connection }> = new Map();
  #connecting: Promise<void> | undefined;
  #since = 0;
  #waiting = 0;

  constructor(create: (server: ServerConfig) => Connection) {
    this.#create = create;
  }

  get connections(): readonly Connection[] {
    return [...this.#entries.values()].map(({ connection }) => connection);
  }

  /** Whether a call is under way, or somebody waits for it. */
  get isBusy(): boolean {
    return this.#waiting > 0 || this.connections.some(({ isBusy }) => isBusy);
  }

  /** From now on these. One that is gone, or is another one under the same name, ends with its last call. */
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

  /** Connects all; resolves when each is there or has failed. */
  connect(): Promise<void> {
    if (!this.#connecting) {
      this.#since = performance.now();
      this.#connecting = Promise.allSettled(this.connections.map((connection) => connection.connect())).then(() => {});
    }
    return this.#connecting;
  }

  /** What is left of this time since the servers were started. */
  patience(ms: number): number {
    return Math.max(0, this.#since + ms - performance.now());
  }

  /** Lets somebody wait, who needs it afterwards. */
  async holdFor(work: Promise<void>): Promise<void> {
    this.#waiting++;
    try {
      await work;
    } finally {
      this.#waiting--;
    }
  }

  /** Something has changed that may let in what was not let in before. */
  retry(): void {
    for (const connection of this.connections) void connection.retry();
  }

  /** Ends what runs for it; whoever calls a tool has it started again. */
  async rest(): Promise<void> {
    // What has failed is not tried again meanwhile: whoever comes next has that done.
    if (this.connections.some(({ error }) => error)) this.#connecting = undefined;
    await Promise.all(this.connections.map((connection) => connection.rest()));
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((connection) => connection.close()));
  }
}

/** Two servers with the same one are the same. Only compared, never shown: there are secrets in it. */
function digestOf(server: ServerConfig): string {
  const text = JSON.stringify(server, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    const plain = this[key];
    return plain instanceof Secret ? plain.reveal() : value;
  });
  return hash("sha256", text, "base64url");
}
