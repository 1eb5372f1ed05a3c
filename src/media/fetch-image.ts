import { lookup as dnsLookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { unlessAborted } from "../core/abort-race.ts";
import { ExcursorError } from "../core/errors.ts";
import { isPublicAddress } from "../core/http/public-address.ts";
import { type ImageAddress, readImageAddress } from "./image-address.ts";
import { fetchFailed, tooLarge } from "./image-errors.ts";
import { connectPinned, type PinnedTarget } from "./pinned-connection.ts";

export interface FetchOptions {
  readonly maxBytes: number;
  /** Includes redirects. */
  readonly timeoutMs: number;
  readonly ports: readonly number[];
  /** Returns all addresses of a name. */
  readonly lookup: (host: string) => Promise<readonly string[]>;
  readonly connect: (target: PinnedTarget) => Duplex;
}

export const FETCH_DEFAULTS: Omit<FetchOptions, "maxBytes"> = {
  timeoutMs: 10_000,
  ports: [443],
  lookup: async (host) => (await dnsLookup(host, { all: true })).map(({ address }) => address),
  connect: connectPinned,
};

const MAX_REDIRECTS = 3;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Fetches an image from the public internet, and from nowhere else. Parses the URL once, resolves the name once, and
 * checks every redirect as a new URL.
 */
export async function fetchImage(text: string, options: FetchOptions): Promise<Buffer> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  let address = readImageAddress(text, undefined, options.ports);
  const { hostname } = address.url;
  const fail = (error: unknown): never => {
    if (error instanceof ExcursorError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw fetchFailed(hostname, signal.aborted ? "timeout" : (code ?? message));
  };
  for (let redirects = 0; ; redirects++) {
    const response = await open(address, options, signal).catch(fail);
    const location = redirectTarget(response);
    if (location === undefined) return readBody(response, options.maxBytes).catch(fail);
    response.destroy();
    if (redirects === MAX_REDIRECTS) throw fetchFailed(hostname, "too many redirects");
    // The error must not tell the client where the redirect leads.
    address = attempt(() => readImageAddress(location, address.url, options.ports), hostname);
  }
}

async function open(address: ImageAddress, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const addresses = await unlessAborted(resolve(address.host, options), signal);
  const { host, port, path, url } = address;
  return new Promise((resolved, reject) => {
    const outgoing = request({
      host,
      port,
      path,
      signal,
      headers: { host: url.host, accept: ACCEPT, "accept-encoding": "identity", "user-agent": "excursor" },
      maxHeaderSize: MAX_HEADER_BYTES,
      // Replaces the agent: no pool, no proxy, one connection.
      createConnection: () => options.connect({ host, port, addresses }),
    });
    outgoing.on("response", resolved);
    outgoing.on("error", reject);
    outgoing.end();
  });
}

const ACCEPT = "image/png, image/jpeg, image/gif, image/webp";

/** Rejects the name if any of its addresses is not public. */
async function resolve(host: string, { lookup }: FetchOptions): Promise<readonly string[]> {
  const addresses = isIP(host) ? [host] : await lookup(host);
  if (addresses.length === 0) throw new Error("no address");
  if (!addresses.every(isPublicAddress)) throw new Error("address not public");
  return addresses;
}

function redirectTarget({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? (headers.location ?? "") : undefined;
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { statusCode, headers } = response;
  const encoding = headers["content-encoding"] ?? "identity";
  const chunks: Buffer[] = [];
  let size = Number(headers["content-length"] ?? 0);
  try {
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    if (encoding !== "identity") throw new Error("compressed");
    if (size > maxBytes) throw tooLarge(maxBytes);
    size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    response.destroy();
  }
}

function attempt<T>(act: () => T, host: string): T {
  try {
    return act();
  } catch (error) {
    throw fetchFailed(host, `redirect: ${ExcursorError.from(error).code}`);
  }
}
