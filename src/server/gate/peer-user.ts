import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../refusal.ts";

/** Whether the system says whom the other end of a connection belongs to. */
export const knowsPeers = (): boolean => process.platform === "linux" && process.getuid !== undefined;

/**
 * Turns away other users of this machine, by whom the kernel says the other end of the connection belongs to (SEC-45).
 * Only Linux tells; elsewhere the token has to do.
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

/** One row a socket: `sl local remote state queues timer retransmits uid …`. */
function ownerOf(local: string, remote: string, read: (path: string) => string): number | undefined {
  for (const [path, prefix] of TABLES) {
    for (const row of read(path).split("\n")) {
      const fields = row.trim().split(/ +/);
      if (fields[1] === prefix + local && fields[2] === prefix + remote) return Number(fields[7]);
    }
  }
  return undefined;
}

/** A program may reach an IPv4 address through a socket that could do both; then it stands in the other table. */
const TABLES = [
  ["/proc/net/tcp", ""],
  ["/proc/net/tcp6", "0000000000000000FFFF0000"],
] as const;

/** As the kernel prints them: the address byte by byte backwards. */
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
