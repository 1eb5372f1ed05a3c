import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { type Agents, H1Exchange } from "./h1-exchange.ts";
import type { HttpTransport } from "./http.ts";
import { type WireLimits, wireLimits } from "./limits.ts";
import { transportClosed } from "./network-errors.ts";

export interface Http1Options {
  readonly limits?: Partial<WireLimits>;
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer;
}

/** Shorter than any server waits, so that a socket is rarely closed by the peer just when it is used again. */
const MAX_FREE_SOCKET_MS = 15_000;

/** HTTP/1.1 over kept-alive sockets, of which long-lived exchanges have their own. */
export function createHttp1Transport(options: Http1Options = {}): HttpTransport {
  const limits = wireLimits(options.limits);
  const short = agents(limits.maxShortSockets, options.ca);
  const long = agents(limits.maxLongSockets, options.ca);
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

function agents(maxSockets: number, ca: string | Buffer | undefined): Agents {
  const options = { keepAlive: true, maxSockets, timeout: MAX_FREE_SOCKET_MS } as const;
  return { "http:": new HttpAgent(options), "https:": new HttpsAgent({ ...options, ...(ca && { ca }) }) };
}
