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
  throw new Refusal(403, "forbidden", "Only programs of the user who runs Excursor may connect here.", {
    code: "other_user",
  });
}

/** Returns the uid of a socket. Row format: `sl local remote state queues timer retransmits uid …`. */
function ownerOf(local: string, remote: string, read: (path: string) => string): number | undefined {
  for (const [path, prefix] of TABLES) {
    for (const row of read(path).split("\n")) {
      const fields = row.trim().split(/ +/);
      if (fields[1] === prefix + local && fields[2] === prefix + remote) return Number(fields[7]);
    }
  }
  return undefined;
}

/** A dual-stack socket to an IPv4 address is listed in the IPv6 table. */
const TABLES = [
  ["/proc/net/tcp", ""],
  ["/proc/net/tcp6", "0000000000000000FFFF0000"],
] as const;

/** Formats an address as the kernel does: its bytes reversed. */
function endpoint(address: string, port: number): string {
  const bytes = address
    .replace(/^::ffff:/, "")
    .split(".")
    .map(Number)
    .reverse();
  return `${bytes.map(hex2).join("")}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

const hex2 = (byte: number): string => byte.toString(16).toUpperCase().padStart(2, "0");

function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
