import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { isHttp2, splitterFor, type UnitSplitter } from "./http-units.ts";

type Fault = () => void;

export interface Relay {
  readonly url: string;
  /** Before the n-th unit from now on, counted from 1, this happens. The unit is lost if its connection is. */
  arm(n: number, fault: Fault): void;
  /** Breaks all connections, both sides, with a TCP reset. New ones are taken at once, as after a restart. */
  breakAll(): void;
  /** Lets nothing more through on the HTTP/2 streams that there are by now; the connection and new streams live. */
  stallStreams(): void;
  /** Closes them in order, wherever they are. */
  closeAll(): void;
  close(): Promise<void>;
}

/** Stands before a server and passes on what comes, unit by unit, both ways, up to the one where something happens. */
export async function startRelay(target: () => string): Promise<Relay> {
  const sockets = new Set<Socket>();
  let count = 0;
  let newestStream = 0;
  let stalledStream = 0;
  let armed: { readonly n: number; readonly fault: Fault } | undefined;
  const dropAll = (drop: (socket: Socket) => void) => () => {
    for (const socket of sockets) drop(socket);
    sockets.clear();
  };
  const breakAll = dropAll((socket) => socket.resetAndDestroy());
  const pass = (from: Socket, to: Socket, split: UnitSplitter) => (chunk: Buffer) => {
    for (const { bytes, counts, stream = 0 } of split(chunk)) {
      newestStream = Math.max(newestStream, stream);
      if (counts && stream > 0 && stream <= stalledStream) continue;
      if (counts && ++count === armed?.n) armed.fault();
      // The fault may have been the end of this connection.
      if (from.destroyed) return;
      to.write(bytes);
    }
  };
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const { port, hostname: host } = new URL(target());
    const upstream = connect({ port: Number(port), host, noDelay: true, allowHalfOpen: true });
    const pair = [client, upstream] as const;
    for (const [socket, other] of [pair, [...pair].reverse() as unknown as typeof pair]) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("end", () => other.end());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroySoon();
      });
    }
    client.once("data", (first) => {
      const [up, down] = [true, false].map((isClient) => splitterFor(isHttp2(first), isClient));
      if (!up || !down) return;
      const send = pass(client, upstream, up);
      client.on("data", send);
      upstream.on("data", pass(upstream, client, down));
      send(first);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arm(n, fault) {
      count = 0;
      armed = { n, fault };
    },
    breakAll,
    stallStreams() {
      stalledStream = newestStream;
    },
    closeAll: dropAll((socket) => socket.destroy()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakAll();
      }),
  };
}
