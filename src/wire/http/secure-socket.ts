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

/** A TLS connection to an https origin, through a proxy where there is one. Throws where its settings cannot be used. */
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
  // Each would outlive the other.
  tunnel.on("error", (error) => socket.destroy(error));
  tunnel.on("close", () => socket.destroy());
  return socket.on("close", () => tunnel.destroy());
}
