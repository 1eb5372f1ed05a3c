import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { encodeAppend } from "../../src/wire/agent/bidi-append.ts";
import { encodeFrame } from "../../src/wire/connect/envelope.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";

const MIB = 1024 * 1024;
const FLAGS = ["--cursor-face", "--cursor-port", "0", "--ollama", "--ollama-port", "0", "--bridge"];

/** A gateway process with all its listeners, and a backend that takes everything and says nothing. */
async function setUp() {
  const { start } = await setUpGateway({}, { EXCURSOR_BRIDGE_PORT: "0" });
  const gateway = await start(...FLAGS);
  const listeners = {
    gateway: gateway.url,
    "Ollama's clients": gateway.ollamaUrl ?? "",
    bridge: gateway.bridgeUrl ?? "",
    "Cursor face": gateway.cursorUrl ?? "",
  };
  const residentMiB = () => {
    const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8")) ?? [];
    return Number(kib) / 1024;
  };
  /** A holder of the key is served by the gateway and by the face, meanwhile. */
  const servesHolders = async () => {
    for (const url of [listeners.gateway, listeners["Cursor face"]]) {
      // On a connection of its own, which has to be let in.
      const request = get(`${url}/v1/models`, { agent: false, headers: { authorization: `Bearer ${KEY}` } });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      expect([url, response.statusCode]).toEqual([url, 200]);
      await text(response);
    }
  };
  return { listeners, residentMiB, servesHolders };
}

function open(url: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Writes until the other side takes no more for half a second. */
async function pour(
  stream: { write(chunk: Buffer): boolean; destroyed: boolean } & NodeJS.EventEmitter,
  mib: number,
): Promise<void> {
  const chunk = Buffer.alloc(MIB, 0x61);
  for (let sent = 0; sent < mib && !stream.destroyed; sent++) {
    if (stream.write(chunk)) continue;
    const isStuck = await Promise.race([
      once(stream, "drain").then(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 500)),
    ]).catch(() => true);
    if (isStuck) return;
  }
}

const HOST = (url: string) => `host: ${new URL(url).host}\r\n`;

/** What strangers send, without a key, to any listener. */
const FLOODS: Readonly<Record<string, (url: string) => Promise<void>>> = {
  "run ids of forty megabytes (A3)": async (url) => {
    for (let n = 0; n < 6; n++) {
      const requestId = `${n}`.padEnd(40 * MIB, "i");
      const body = Buffer.from(encodeAppend({ requestId, seqno: 1n, payload: new Uint8Array(4) }));
      const headers = { "content-type": "application/proto", authorization: "Bearer nobody" };
      const sent = fetch(`${url}/aiserver.v1.BidiService/BidiAppend`, { method: "POST", headers, body });
      await sent.then((response) => response.arrayBuffer()).catch(() => {});
    }
  },
  "one stream of messages that open no run (A4)": async (url) => {
    const session: ClientHttp2Session = connectHttp2(url);
    session.on("error", () => {});
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": "/agent.v1.AgentService/Run",
      "content-type": "application/connect+proto",
      authorization: "Bearer nobody",
    });
    stream.on("error", () => {});
    const frame = Buffer.from(encodeFrame(Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x40]), Buffer.alloc(MIB)])));
    for (let n = 0; n < 300 && !stream.destroyed && !session.destroyed; n++) {
      if (stream.write(frame)) continue;
      await Promise.race([once(stream, "drain"), new Promise((resolve) => setTimeout(resolve, 500))]).catch(() => {});
      if (stream.writableNeedDrain) return;
    }
  },
  "silent connections, and idle ones of HTTP/2 (A6)": async (url) => {
    const sockets = Array.from({ length: 1100 }, () => open(url));
    await Promise.all(
      sockets.slice(0, 1000).map((socket) => socket.readyState === "opening" && once(socket, "connect")),
    );
    for (let n = 0; n < 100; n++) {
      const session = connectHttp2(url).on("error", () => {});
      onTestFinished(() => session.destroy());
    }
  },
  "twelve bodies that do not end (A5)": async (url) => {
    for (const path of ["/aiserver.v1.BidiService/BidiAppend", "/v1/chat/completions"]) {
      await Promise.all(
        Array.from({ length: 12 }, async () => {
          const socket = open(url);
          socket.resume();
          socket.write(
            `POST ${path} HTTP/1.1\r\n${HOST(url)}authorization: Bearer nobody\r\ncontent-type: application/proto\r\ncontent-length: ${64 * MIB}\r\n\r\n`,
          );
          await pour(socket, 60);
        }),
      );
    }
  },
};

describe.skipIf(process.platform !== "linux")("strangers at every listener", { timeout: 120_000 }, () => {
  it.each(Object.entries(FLOODS))("%s: memory stays bounded, and holders of the key are served", async (_, flood) => {
    const { listeners, residentMiB, servesHolders } = await setUp();
    await servesHolders();
    for (const [name, url] of Object.entries(listeners)) {
      const before = residentMiB();
      await flood(url);
      // All strangers together may hold 128 MiB, and what they have sent may not be collected yet.
      expect([name, residentMiB() - before < 320]).toEqual([name, true]);
      await servesHolders();
    }
  });
});
