import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkPeer } from "../../../src/server/gate/peer-user.ts";

const socket = { remoteAddress: "127.0.0.1", remotePort: 0xa1b2, localAddress: "127.0.0.1", localPort: 37_842 };
const request = { socket } as unknown as IncomingMessage;
const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const row = (local: string, remote: string, uid: number | undefined) =>
  `   1: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 1234 1`;

const ours = process.getuid?.();
const THERE = "0100007F:A1B2";
const HERE = "0100007F:93D2";
const MAPPED = "0000000000000000FFFF0000";

describe.skipIf(process.platform !== "linux")("whom the other end of a connection belongs to (SEC-45)", () => {
  const check = (tables: Record<string, string[]>) => () =>
    checkPeer(request, (path) => [HEAD, ...(tables[path] ?? [])].join("\n"));

  it("is read from the kernel's table, either one", () => {
    expect(check({ "/proc/net/tcp": [row(THERE, HERE, ours)] })).not.toThrow();
    expect(check({ "/proc/net/tcp6": [row(MAPPED + THERE, MAPPED + HERE, ours)] })).not.toThrow();
  });

  it("is read for IPv6, too", () => {
    const six = { ...socket, remoteAddress: "::1", localAddress: "2001:db8::ff00:42:8329" };
    const [there, here] = ["00000000000000000000000001000000:A1B2", "B80D01200000000000FF000029834200:93D2"];
    const checkSix = (uid: number | undefined) => () =>
      checkPeer({ socket: six } as unknown as IncomingMessage, (path) =>
        path === "/proc/net/tcp6" ? row(there, here, uid) : "",
      );
    expect(checkSix(ours)).not.toThrow();
    expect(checkSix(65_533)).toThrow(/the user who runs/);
  });

  it.each(["127.0.0.1", "::1", "::"])("is found for a real connection to %s", async (host) => {
    const seen: boolean[] = [];
    const server = createServer((incoming, response) => {
      try {
        checkPeer(incoming);
        seen.push(true);
      } catch {
        seen.push(false);
      }
      response.end();
    });
    server.listen(0, host);
    onTestFinished(() => void server.close());
    const isListening = await Promise.race([
      once(server, "listening").then(() => true),
      once(server, "error").then(() => false),
    ]);
    // A machine may have no IPv6.
    if (!isListening && host !== "127.0.0.1") return;
    const { port } = server.address() as AddressInfo;
    for (const to of host === "::" ? ["[::1]", "127.0.0.1"] : [host.includes(":") ? `[${host}]` : host]) {
      await (await fetch(`http://${to}:${port}/`)).text();
    }
    expect(seen).toEqual(host === "::" ? [true, true] : [true]);
  });

  it("is refused if it is somebody else, if only our own end is there, or if nobody is", () => {
    expect(check({ "/proc/net/tcp": [row(THERE, HERE, 65_533)] })).toThrow(/the user who runs/);
    expect(check({ "/proc/net/tcp": [row(HERE, THERE, ours)] })).toThrow();
    expect(check({})).toThrow();
  });
});
