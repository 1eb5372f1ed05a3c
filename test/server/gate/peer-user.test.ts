import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createPeerCheck } from "../../../src/server/gate/peer-user.ts";

const socket = { remoteAddress: "127.0.0.1", remotePort: 0xa1b2, localAddress: "127.0.0.1", localPort: 37_842 };
const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const row = (local: string, remote: string, uid: number | undefined, state = "01", inode = 1234) =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1`;

const ours = process.getuid?.();
const THERE = "0100007F:A1B2";
const HERE = "0100007F:93D2";
const MAPPED = "0000000000000000FFFF0000";

describe.skipIf(process.platform !== "linux")("whom the other end of a connection belongs to (SEC-45)", () => {
  const check = (tables: Record<string, string[]>) =>
    createPeerCheck(async (path) => [HEAD, ...(tables[path] ?? [])].join("\n"))(socket as Socket);

  it("is read from the kernel's table, either one", async () => {
    await check({ "/proc/net/tcp": [row(THERE, HERE, ours)] });
    await check({ "/proc/net/tcp6": [row(MAPPED + THERE, MAPPED + HERE, ours)] });
  });

  it("is read for IPv6, too", async () => {
    const six = { ...socket, remoteAddress: "::1", localAddress: "2001:db8::ff00:42:8329" } as Socket;
    const [there, here] = ["00000000000000000000000001000000:A1B2", "B80D01200000000000FF000029834200:93D2"];
    const checkSix = (uid: number | undefined) =>
      createPeerCheck(async (path) => (path === "/proc/net/tcp6" ? row(there, here, uid) : ""))(six);
    await checkSix(ours);
    await expect(checkSix(65_533)).rejects.toThrow(/the user who runs/);
  });

  it.each(["127.0.0.1", "::1", "::"])("is found for a real connection to %s", async (host) => {
    const seen: boolean[] = [];
    const checkPeer = createPeerCheck();
    const server = createServer(async (incoming, response) => {
      seen.push(
        await checkPeer(incoming.socket).then(
          () => true,
          () => false,
        ),
      );
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

  it("is refused if it is somebody else, if only our own end is there, or if nobody is", async () => {
    await expect(check({ "/proc/net/tcp": [row(THERE, HERE, 65_533)] })).rejects.toThrow(/the user who runs/);
    await expect(check({ "/proc/net/tcp": [row(HERE, THERE, ours)] })).rejects.toThrow();
    await expect(check({})).rejects.toThrow();
  });

  it("is refused once its program has closed it: the kernel lists it as root's (A25)", async () => {
    await expect(check({ "/proc/net/tcp": [row(THERE, HERE, ours, "06", 0)] })).rejects.toThrow();
    await expect(check({ "/proc/net/tcp": [row(THERE, HERE, ours, "04", 0)] })).rejects.toThrow();
    await expect(check({ "/proc/net/tcp": [row(THERE, HERE, ours, "01", 0)] })).rejects.toThrow();
  });

  it("is looked up once a connection, and by one reading for all that wait (A24)", async () => {
    const readings = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let begun = 0;
    const peers = Array.from({ length: 100 }, (_, index) => ({ ...socket, remotePort: 0xa000 + index }) as Socket);
    const rows = peers.map(({ remotePort = 0 }) =>
      row(`0100007F:${remotePort.toString(16).toUpperCase()}`, HERE, ours),
    );
    const checkPeer = createPeerCheck((path) =>
      path === "/proc/net/tcp"
        ? (readings[begun++]?.promise ?? Promise.reject(new Error("one reading too many")))
        : Promise.resolve(""),
    );
    const [first, ...others] = peers;
    const early = checkPeer(first as Socket);
    await vi.waitFor(() => expect(begun).toBe(1));
    // These may be newer than the reading that has begun, so they share the next one.
    const later = others.flatMap((peer) => [checkPeer(peer), checkPeer(peer)]);
    readings[0]?.resolve(rows[0] ?? "");
    await early;
    readings[1]?.resolve(rows.join("\n"));
    await Promise.all(later);
    await Promise.all(peers.map(checkPeer));
    expect(begun).toBe(2);
  });
});
