import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Socket } from "node:net";
import { wireLimits } from "../limits.ts";
import { type Agents, H1Exchange } from "./h1-exchange.ts";
import type { HttpTransport, TransportOptions } from "./http.ts";
import { transportClosed } from "./network-errors.ts";
import { connectSecurely } from "./secure-socket.ts";

/** Shorter than any server's timeout, so that a reused socket is rarely closed by the peer at that moment. */
const MAX_FREE_SOCKET_MS = 15_000;

/** Creates an HTTP/1.1 transport with kept-alive sockets. Long-lived exchanges have sockets of their own. */
export function createHttp1Transport(options: TransportOptions = {}): HttpTransport {
  const limits = wireLimits(options.limits);
  const short = agents(limits.maxShortSockets, options);
  const long = agents(limits.maxLongSockets, options);
  const open = new Set<H1Exchange>();
  let onEmpty: (() => void) | undefined;
  let isClosed = false;

  const destroyAgents = (): void => {
    for (const { "http:": plain, "https:": tls } of [short, long]) {
      plain.destroy();
      tls.destroy();
    }
  };

  return {
    open(request, handler) {
      const exchange = new H1Exchange(request, handler, limits, () => {
        open.delete(exchange);
        if (open.size === 0) onEmpty?.();
      });
      if (isClosed) {
        process.nextTick(() => exchange.fail(transportClosed(), false));
      } else {
        open.add(exchange);
        exchange.start(request.isLongLived ? long : short);
      }
      return exchange;
    },
    async close() {
      isClosed = true;
      if (open.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve));
      destroyAgents();
    },
    destroy() {
      isClosed = true;
      for (const exchange of [...open]) exchange.fail(transportClosed(), true);
      destroyAgents();
    },
  };
}

function agents(maxSockets: number, { ca, findProxy }: TransportOptions): Agents {
  const options = { keepAlive: true, maxSockets, timeout: MAX_FREE_SOCKET_MS } as const;
  const tls = new HttpsAgent({ ...options, ...(ca && { ca }) });
  const connectDirectly = tls.createConnection.bind(tls);
  tls.createConnection = (target, onCreated) => {
    const url = new URL(`https://${bracketed(target.host ?? "")}:${target.port}`);
    try {
      if (!findProxy?.(url)) return connectDirectly(target, onCreated);
      return connectSecurely({ url, protocol: "http/1.1", ca, findProxy });
    } catch (error) {
      // Node does not expect an exception for a request that waited for a socket.
      return new Socket().destroy(error as Error);
    }
  };
  return { "http:": new HttpAgent(options), "https:": tls };
}

const bracketed = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host);
