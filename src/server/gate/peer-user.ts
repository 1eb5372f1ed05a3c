import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../refusal.ts";

/** Whether the system tells which user owns the other end of a connection. */
export const knowsPeers = (): boolean => process.platform === "linux" && process.getuid !== undefined;

/**
 * Refuses other users of this machine, by the owner of the connection's other end (SEC-45). Only Linux tells it;
 * elsewhere the key has to suffice.
 */
export function checkPeer({ socket }: IncomingMessage, read: (path: string) => string = readTable): void {
  if (!knowsPeers()) return;
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
  const uid = ownerOf(endpoint(remoteAddress, remotePort), endpoint(localAddress, localPort), read);
  if (uid === process.getuid?.()) return;
  throw new Refusal(403, "other_user");
}

/** Returns the uid of a socket. Row format: `sl local remote state queues timer retransmits uid …`. */
function ownerOf(local: Endpoint, remote: Endpoint, read: (path: string) => string): number | undefined {
  for (const [path, form] of TABLES) {
    const [from, to] = [form(local), form(remote)];
    for (const row of read(path).split("\n")) {
      const fields = row.trim().split(/ +/);
      if (fields[1] === from && fields[2] === to) return Number(fields[7]);
    }
  }
  return undefined;
}

interface Endpoint {
  /** 16 bytes; of an IPv4 address the mapped one. */
  readonly bytes: readonly number[];
  readonly port: string;
}

/** A dual-stack socket to an IPv4 address is listed in the IPv6 table. */
const TABLES = [
  ["/proc/net/tcp", ({ bytes, port }: Endpoint) => words(bytes.slice(12)) + port],
  ["/proc/net/tcp6", ({ bytes, port }: Endpoint) => words(bytes) + port],
] as const;

const endpoint = (address: string, port: number): Endpoint => ({
  bytes: address.includes(".") ? bytesOfIPv4(address.replace(/^::ffff:/, "")) : bytesOfIPv6(address),
  port: `:${port.toString(16).toUpperCase().padStart(4, "0")}`,
});

const bytesOfIPv4 = (address: string): readonly number[] => [
  ...Array<number>(10).fill(0),
  ...[0xff, 0xff],
  ...address.split(".").map(Number),
];

function bytesOfIPv6(address: string): readonly number[] {
  const [start = [], end = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const gap = Array<string>(Math.max(0, 8 - start.length - end.length)).fill("0");
  return [...start, ...gap, ...end]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255]);
}

/** Formats bytes as the kernel does: by words of four bytes, each reversed. */
function words(bytes: readonly number[]): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4)
    text += bytes
      .slice(at, at + 4)
      .reverse()
      .map(hex2)
      .join("");
  return text;
}

const hex2 = (byte: number): string => byte.toString(16).toUpperCase().padStart(2, "0");

function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
