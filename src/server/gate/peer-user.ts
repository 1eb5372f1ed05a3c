import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { Refusal } from "../refusal.ts";

/** Whether the system tells which user owns the other end of a connection. */
export const knowsPeers = (): boolean => process.platform === "linux" && process.getuid !== undefined;

/** Rejects if another user of this machine has the other end of the connection. */
export type PeerCheck = (socket: Socket) => Promise<void>;

/**
 * Returns a check for other users of this machine, by the owner of the connection's other end (SEC-45). Only Linux tells it;
 * elsewhere the key has to suffice. A connection is looked up once. Those that wait share one reading of the kernel's tables.
 */
export function createPeerCheck(read: (path: string) => Promise<string> = readTable): PeerCheck {
  const known = new WeakMap<Socket, Promise<boolean>>();
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<readonly string[]> | undefined;
  /** A reading that has begun may miss a newer connection, so a caller joins only one that has not. */
  const tables = (): Promise<readonly string[]> => {
    next ??= current.then(() => {
      next = undefined;
      const reading = Promise.all(TABLES.map(([path]) => read(path)));
      current = reading;
      return reading;
    });
    return next;
  };
  const isOurs = async (socket: Socket): Promise<boolean> => {
    const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
    const [local, remote] = [endpoint(remoteAddress, remotePort), endpoint(localAddress, localPort)];
    return ownerOf(await tables(), local, remote) === process.getuid?.();
  };
  return async (socket) => {
    if (!knowsPeers()) return;
    const answer = known.get(socket) ?? isOurs(socket);
    known.set(socket, answer);
    if (!(await answer)) throw new Refusal(403, "other_user");
  };
}

/** The state of a connection that both ends have open. */
const ESTABLISHED = "01";
/** What a row has after its state is shorter. */
const MAX_REST = 128;

/**
 * Returns the uid of an open socket. Row format: `sl local remote state queues timer retransmits uid timeout inode …`. A socket
 * that its program has closed has no inode, and is listed as root's.
 */
function ownerOf(tables: readonly string[], local: Endpoint, remote: Endpoint): number | undefined {
  for (const [index, [, form]] of TABLES.entries()) {
    const table = tables[index] ?? "";
    const start = ` ${form(local)} ${form(remote)} ${ESTABLISHED} `;
    const at = table.indexOf(start);
    if (at === -1) continue;
    const rest = table.slice(at + start.length, at + start.length + MAX_REST).split("\n", 1)[0] ?? "";
    const [, , , uid, , inode] = rest.trim().split(/ +/);
    if (uid !== undefined && inode !== undefined && inode !== "0") return Number(uid);
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

const readTable = (path: string): Promise<string> => readFile(path, "latin1").catch(() => "");
