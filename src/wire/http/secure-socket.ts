import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { FindProxy } from "./proxy.ts";
import { openTunnel } from "./tunnel.ts";

export interface SecureOptions {
  readonly url: URL;
  readonly protocol: "h2" | "http/1.1";
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer | undefined;
  readonly findProxy?: FindProxy | undefined;
}

/** Opens a TLS connection, through a proxy if there is one. Throws if the proxy settings are invalid. */
export function connectSecurely({ url, protocol, ca, findProxy }: SecureOptions): TLSSocket {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port) || 443;
  const proxy = findProxy?.(url);
  const tunnel = proxy && openTunnel(proxy, host, port);
  const socket = connect({
    host,
    port,
    ALPNProtocols: [protocol],
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    ...(tunnel && { socket: tunnel }),
  });
  if (!tunnel) return socket.setNoDelay();
  // Neither closes the other by itself.
  tunnel.on("error", (error) => socket.destroy(error));
  tunnel.on("close", () => socket.destroy());
  return socket.on("close", () => tunnel.destroy());
}
