import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Keys that are asked for at intervals, whether there are turns or not. */
const AT_INTERVALS = /^excursor:v1:(?:check|node:.*|nodes|keys-version|keys|revoked|logins-version|usage|usage-.*)$/;

export interface CountingProxy {
  readonly url: string;
  /** The round trips, each with the first keys of its commands. Commands at intervals are left out. */
  readonly trips: string[][];
}

/** Stands between a gateway and its Redis, and counts round trips: commands that arrive in one packet are one. */
export async function startCountingProxy(
  port: number,
  defer: (cleanup: () => unknown) => void,
): Promise<CountingProxy> {
  const trips: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const redis = connect({ port, host: "127.0.0.1", noDelay: true });
    const commands = new CommandReader();
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [client, redis].forEach((one) => void one.destroy()));
    }
    client.on("data", (chunk) => {
      const keys = commands.push(chunk).filter((key) => key.startsWith("excursor:") && !AT_INTERVALS.test(key));
      if (keys.length > 0) trips.push(keys);
      redis.write(chunk);
    });
    redis.pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, trips };
}

/** Reads commands, each an array of strings, from the bytes that a client sends. */
class CommandReader {
  #bytes: Buffer = Buffer.alloc(0);

  /** Returns the first keys of the commands that are complete now. */
  push(chunk: Buffer): string[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const keys: string[] = [];
    for (;;) {
      const command = this.#take();
      if (!command) return keys;
      const [name = "", ...given] = command;
      keys.push((name.startsWith("EVAL") ? given[2] : given[0]) ?? "");
    }
  }

  #take(): string[] | undefined {
    let at = 0;
    const line = (): string | undefined => {
      const end = this.#bytes.indexOf("\r\n", at);
      if (end === -1) return undefined;
      const text = this.#bytes.toString("latin1", at + 1, end);
      at = end + 2;
      return text;
    };
    const count = line();
    if (count === undefined) return undefined;
    const parts: string[] = [];
    while (parts.length < Number(count)) {
      const length = line();
      if (length === undefined || this.#bytes.length < at + Number(length) + 2) return undefined;
      parts.push(this.#bytes.toString("latin1", at, at + Number(length)));
      at += Number(length) + 2;
    }
    this.#bytes = this.#bytes.subarray(at);
    return parts;
  }
}
