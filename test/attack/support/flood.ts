import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { issueTokens } from "../../../src/sim/accounts.ts";

/** A token of the right form that the backend refuses, another one for each number. */
export const forgedToken = (index: number): string => issueTokens(`auth0|stranger_${index}`, -3600).accessToken;

export const postHead = (key: string, ...more: readonly string[]): string =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    "Host: localhost",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    ...more,
    "",
    "",
  ].join("\r\n");

export const HEALTH = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** One flood takes no longer than this. */
const MAX_FLOOD_MS = 5000;

/** Connections of people with bad intentions, and what they got to read. */
export class Strangers {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #heard = "";

  constructor(port: number) {
    this.#port = port;
  }

  /** Everything that any of them was sent, shortened where it goes on and on. */
  get heard(): string {
    return this.#heard;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** Resolves when the text is handed over, or the other side has had enough. */
  async send(text: string | Buffer): Promise<Socket> {
    const socket = connect({ port: this.#port, host: "127.0.0.1" });
    this.#sockets.add(socket);
    let left = 4096;
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      this.#heard += chunk.slice(0, left);
      left = Math.max(0, left - chunk.length);
    });
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    await Promise.race([once(socket, "connect"), once(socket, "close")]);
    if (text.length > 0 && !socket.destroyed) {
      const flushed = new Promise((resolve) => socket.write(text, resolve));
      await Promise.race([flushed, once(socket, "close")]);
    }
    return socket;
  }

  /** So many of them, a few at a time; fewer on a slow machine. */
  async sendMany(count: number, atOnce: number, text: (index: number) => string | Buffer): Promise<void> {
    let next = 0;
    const end = performance.now() + MAX_FLOOD_MS;
    const work = async () => {
      for (let index = next++; index < count && performance.now() < end; index = next++) await this.send(text(index));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** What a process takes of the machine's memory, in MiB; undefined where nobody tells. */
export function residentMiB(pid: number): number | undefined {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;
  } catch {
    return undefined;
  }
}
