import { lookup } from "node:dns";
import { once } from "node:events";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { isIP, isIPv4, type LookupFunction } from "node:net";
import { connect } from "node:tls";
import type { FetchLike } from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import { blockList, isPublicAddress } from "../../core/http/public-address.ts";

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 15_000;

/**
 * Creates a fetch for addresses that an MCP server names: its authorization server, and addresses named by that. A
 * public server cannot redirect us into this network or this machine, and a server of this network not to this machine.
 * Requires TLS except on this machine, limits the size, follows no redirects, and connects only to checked addresses
 * (SEC-43).
 */
export function createGuardedFetch(name: string, server: URL, resolve: LookupFunction = lookup): FetchLike {
  const refused = (url: URL, why: string) => addressRefused(name, url, why);
  return async (given, init) => {
    const url = new URL(given);
    const isOwn = url.origin === server.origin;
    const own = isOwn ? undefined : await reachOf(server, resolve);
    const mayReach = (address: string) => own === undefined || REACH[reach(address)] >= REACH[own];
    if (!isOwn && url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackName(url) && own === "machine"))
      throw refused(url, "it is not https");
    if (url.username !== "" || url.password !== "") throw refused(url, "it contains credentials");
    const host = bare(url);
    if (isIP(host) && !mayReach(host)) throw refused(url, FARTHER_IN);
    return send(
      url,
      init,
      guardedLookup(resolve, mayReach, () => refused(url, FARTHER_IN)),
      () => refused(url, "its answer is too long"),
    );
  };
}

type Reach = "machine" | "nobody" | "network" | "internet";

/**
 * How public an address is. `nobody` covers link-local addresses, where clouds serve credentials; they are never
 * allowed.
 */
const REACH: Readonly<Record<Reach, number>> = { nobody: -1, machine: 0, network: 1, internet: 2 };

function reach(address: string): Reach {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (isPublicAddress(plain)) return "internet";
  const family = isIPv4(plain) ? "ipv4" : "ipv6";
  if (MACHINE.check(plain, family)) return "machine";
  return NOBODY.check(plain, family) ? "nobody" : "network";
}

const MACHINE = blockList([
  ["127.0.0.0", 8],
  ["::1", 128],
]);

const NOBODY = blockList([
  ["169.254.0.0", 16],
  ["0.0.0.0", 8],
  ["fe80::", 10],
  ["::", 128],
]);

/**
 * Returns how public the server itself is. Whoever owns its name can make that lead anywhere at any time, so an address
 * counts only where the server proves its certificate, and only a literal one is this machine.
 */
async function reachOf(server: URL, resolve: LookupFunction): Promise<Reach> {
  if (isLoopbackName(server)) return "machine";
  const host = bare(server);
  const address = isIP(host) ? host : await provenAddress(server, resolve);
  return address === undefined || reach(address) === "internet" ? "internet" : "network";
}

async function provenAddress({ hostname: host, protocol, port }: URL, resolve: LookupFunction) {
  if (protocol !== "https:") return undefined;
  const socket = connect({ host, port: Number(port || 443), servername: host, lookup: resolve });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return socket.remoteAddress;
  } catch {
    return undefined;
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

const bare = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");
const isLoopbackName = (url: URL): boolean => bare(url) === "localhost" || reach(bare(url)) === "machine";

function guardedLookup(
  resolve: LookupFunction,
  mayReach: (address: string) => boolean,
  refused: () => Error,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      const found = Array.isArray(addresses) ? addresses : [];
      if (error) callback(error, "");
      else if (!found.every(({ address }) => mayReach(address))) callback(refused(), "");
      else if (options.all) callback(null, found);
      else callback(null, found[0]?.address ?? "", found[0]?.family);
    });
  };
}

async function send(
  url: URL,
  init: Parameters<FetchLike>[1],
  guarded: LookupFunction,
  tooLong: () => Error,
): Promise<Response> {
  // `Request` converts body and headers to the forms that Node's request takes.
  const asked = new Request(url, { method: init?.method ?? "GET", ...pick(init) });
  const body = asked.body ? Buffer.from(await asked.arrayBuffer()) : undefined;
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(init?.signal ? [init.signal] : [])]);
  const answer = await new Promise<IncomingMessage>((onAnswer, onError) => {
    const request = (url.protocol === "https:" ? requestSecure : requestPlain)(
      url,
      {
        method: asked.method,
        headers: Object.fromEntries(asked.headers),
        lookup: guarded,
        signal,
        agent: false,
      },
      onAnswer,
    );
    request.on("error", onError).end(body);
  });
  const text = await readBounded(answer, tooLong);
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = answer.statusCode ?? 502;
  const hasNoBody = [101, 204, 205, 304].includes(status);
  return new Response(hasNoBody ? null : text, { status, headers });
}

const pick = (init: Parameters<FetchLike>[1]): RequestInit => ({
  ...(init?.headers && { headers: init.headers }),
  ...(init?.body && { body: init.body }),
});

async function readBounded(answer: IncomingMessage, tooLong: () => Error): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const FARTHER_IN = "it is in a more private network than the server itself";

const addressRefused = (server: string, { host }: URL, why: string): ExcursorError =>
  new ExcursorError(
    "mcp_oauth_address_refused",
    `The MCP server "${server}" names a sign-in URL at ${host} that is not allowed: ${why}.`,
  );
