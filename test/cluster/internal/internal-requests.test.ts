import { randomBytes } from "node:crypto";
import { request } from "node:http";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ClusterKeys } from "../../../src/cluster/internal/cluster-keys.ts";
import { InternalClient } from "../../../src/cluster/internal/internal-client.ts";
import { type InternalListener, listenInternally } from "../../../src/cluster/internal/internal-listener.ts";
import { CONNECT_PATH, PROTOCOL, proveRequest } from "../../../src/cluster/internal/internal-request.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";

const TAG = "tag1";
const keys = new ClusterKeys(new Secret("the secret of the cluster, long enough"));
const others = new ClusterKeys(new Secret("another secret, which is as long as it"));
const log = createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false });

let listener: InternalListener;
let received: unknown[];
let nowMs: number;
/** Holds the handler `last` after its last message. */
let untilAsked: PromiseWithResolvers<void>;
/** How often the clock was read: once for each connection. */
let looks: number;
const clients: InternalClient[] = [];
const sockets: Duplex[] = [];

const clientWith = (those: ClusterKeys) => {
  const client = new InternalClient(those, () => nowMs);
  clients.push(client);
  return client;
};
const address = () => ({ tag: TAG, advertise: `http://127.0.0.1:${listener.port}` });

beforeEach(async () => {
  received = [];
  untilAsked = Promise.withResolvers();
  nowMs = 1_000_000;
  looks = 0;
  listener = await listenInternally({
    host: "127.0.0.1",
    port: 0,
    keys,
    tag: TAG,
    now: () => {
      looks++;
      return nowMs;
    },
    log,
    handlers: {
      async echo(exchange) {
        for await (const message of exchange.messages()) {
          received.push(message);
          await exchange.send(message);
        }
      },
      async last(exchange) {
        await exchange.send({ n: 1 });
        await exchange.send({ n: 2 }, true);
        await expect(exchange.send({ n: 3 })).rejects.toMatchObject({ code: "cluster_connection_lost" });
        await untilAsked.promise;
      },
    },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  await listener.close();
});

const head = (over: Partial<Parameters<typeof proveRequest>[1]> = {}, by = keys) =>
  proveRequest(by, {
    path: CONNECT_PATH,
    to: TAG,
    timeMs: nowMs,
    nonce: randomBytes(16).toString("base64url"),
    ...over,
  });

/** Asks for a connection with these headers, and sends these bytes over it. Returns the status, or that it was closed then. */
const connect = (headers: Record<string, string>, bytes?: Buffer, path = CONNECT_PATH) =>
  new Promise<number | "closed">((resolve) => {
    const upgrade = { connection: "upgrade", upgrade: PROTOCOL };
    const outgoing = request({ port: listener.port, path, headers: { ...upgrade, ...headers } });
    outgoing.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    outgoing.on("upgrade", (_, socket) => {
      sockets.push(socket);
      if (!bytes) return resolve(101);
      socket.on("error", () => {}).on("close", () => resolve("closed"));
      socket.write(bytes);
    });
    outgoing.end();
  });

const refusedFor = (reason: string) => listener.refused.get(reason) ?? 0;

describe("requests between gateways (SEC-49)", () => {
  it("carry messages in both directions, one after the other", async () => {
    const exchange = await clientWith(keys).open(address(), "echo", { n: 0 });
    const messages = exchange.messages();
    expect((await messages.next()).value).toEqual({ n: 0 });
    await exchange.send({ n: 1, text: "ü".repeat(100_000) });
    expect((await messages.next()).value).toMatchObject({ n: 1 });
    exchange.end();
    expect((await messages.next()).done).toBe(true);
  });

  it("use a connection again once it is free", async () => {
    const client = clientWith(keys);
    const [first, second] = await Promise.all([0, 1].map((n) => client.open(address(), "echo", { n })));
    if (!first || !second) return expect.unreachable();
    expect(looks).toBe(2);
    for (const exchange of [first, second]) {
      exchange.end();
      expect(await Array.fromAsync(exchange.messages())).toHaveLength(1);
    }
    expect(await client.ask(address(), "echo", { n: 2 })).toEqual([{ n: 2 }]);
    expect(looks).toBe(2);
    await expect(first.send({ n: 3 })).rejects.toMatchObject({ code: "cluster_connection_lost" });
    expect(received).not.toContainEqual({ n: 3 });
  });

  it("free the connection with the last message, also if their handler goes on", async () => {
    const client = clientWith(keys);
    for (let n = 0; n < 3; n++) {
      expect(await client.ask(address(), "last", {})).toEqual([{ n: 1 }, { n: 2 }]);
      expect(await client.ask(address(), "echo", { n })).toEqual([{ n }]);
    }
    untilAsked.resolve();
    expect(await client.ask(address(), "echo", { n: 3 })).toEqual([{ n: 3 }]);
    expect(looks).toBe(1);
  });

  it("break off if there is no such request, and the next one has a connection of its own", async () => {
    const client = clientWith(keys);
    await expect(client.ask(address(), "no-such", {})).rejects.toMatchObject({ code: "cluster_connection_lost" });
    expect(refusedFor("unknown")).toBe(1);
    expect(await client.ask(address(), "echo", { n: 1 })).toEqual([{ n: 1 }]);
  });

  it("are refused without a proof, and with one of another secret", async () => {
    expect(await connect({})).toBe(401);
    expect(await connect(head({}, others))).toBe(401);
    expect(refusedFor("forged")).toBe(2);
    await expect(clientWith(others).open(address(), "echo", {})).rejects.toMatchObject({ code: "cluster_refused" });
    expect(received).toEqual([]);
  });

  it("are refused if the proof is for another path, another gateway or another time", async () => {
    const proof = head();
    expect(await connect(proof, undefined, "/cluster/v2")).toBe(401);
    expect(await connect(head({ to: "tag2" }))).toBe(401);
    expect(await connect({ ...head(), "x-excursor-time": String(nowMs + 1) })).toBe(401);
    expect(refusedFor("forged")).toBe(3);
  });

  it.each([-61_000, 61_000])("are refused if they are %i ms old", async (ageMs) => {
    expect(await connect(head({ timeMs: nowMs - ageMs }))).toBe(401);
    expect(refusedFor("expired")).toBe(1);
    expect(await connect(head({ timeMs: nowMs - Math.sign(ageMs) * 59_000 }))).toBe(101);
  });

  it("are refused when they are sent again, as long as their time is valid", async () => {
    const proof = head();
    expect(await connect(proof)).toBe(101);
    expect(await connect(proof)).toBe(401);
    nowMs += 59_000;
    expect(await connect(proof)).toBe(401);
    expect(refusedFor("replayed")).toBe(2);
  });

  it("end if a frame was changed, repeated or left out", async () => {
    const nonce = () => randomBytes(16).toString("base64url");
    const frames = (own: string) => {
      const sealer = keys.sealer("request", own);
      return [sealer.seal('becho {"n":1}'), sealer.seal('m{"n":2}')] as const;
    };
    const changed = (frame: Buffer) => {
      const copy = Buffer.from(frame);
      copy[6] = (copy[6] ?? 0) ^ 1;
      return copy;
    };
    for (const tamper of [
      ([first]: readonly [Buffer, Buffer]) => changed(first),
      ([first]: readonly [Buffer, Buffer]) => Buffer.concat([first, first]),
      ([, second]: readonly [Buffer, Buffer]) => second,
    ]) {
      received.length = 0;
      const own = nonce();
      expect(await connect(head({ nonce: own }), tamper(frames(own)))).toBe("closed");
      expect(received).not.toContainEqual({ n: 2 });
    }
  });

  it("are not accepted by a client if the answer does not prove the secret", async () => {
    const { createServer } = await import("node:http");
    const impostor = createServer().listen(0, "127.0.0.1");
    impostor.on("upgrade", (_, socket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`);
    });
    await new Promise((resolve) => impostor.once("listening", resolve));
    const { port } = impostor.address() as { port: number };
    const asked = clientWith(keys).open({ tag: TAG, advertise: `http://127.0.0.1:${port}` }, "echo", {});
    await expect(asked).rejects.toMatchObject({ code: "cluster_unproven" });
    impostor.close();
  });

  it("hold the sender back while the other gateway does not read", async () => {
    const exchange = await clientWith(keys).open(address(), "echo", {});
    let sent = 0;
    const flood = (async () => {
      for (; sent < 1000; sent++) await exchange.send({ text: "x".repeat(100_000) });
    })();
    flood.catch(() => {});
    await expect.poll(() => received.length).toBeGreaterThan(5);
    // The echo is not read, so the echoing side stops to read.
    const before = await settled(() => received.length);
    expect(before).toBeLessThan(1000);
    expect(sent).toBeLessThan(1000);
    exchange.destroy();
  });
});

/** Waits until a figure no longer changes. */
async function settled(read: () => number): Promise<number> {
  let last = -1;
  while (read() !== last) {
    last = read();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return last;
}
