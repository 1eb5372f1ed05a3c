import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Certificate } from "./certificate.ts";

export interface ConnectProxy {
  readonly port: number;
  /** What it was asked for, as `host:port`, with the credentials that came along. */
  readonly asked: Array<{ readonly target: string; readonly authorization: string | undefined }>;
  close(): Promise<void>;
}

/** A proxy that makes tunnels to this machine, whatever the name, or answers with a status instead. */
export async function startConnectProxy(status = 200, tls?: Certificate): Promise<ConnectProxy> {
  const asked: ConnectProxy["asked"] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.cert }) : createServer();
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    const target = request.url ?? "";
    asked.push({ target, authorization: request.headers["proxy-authorization"] });
    keep(client);
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const upstream = keep(connect(Number(target.split(":").at(-1)), "127.0.0.1"));
    upstream.on("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
