import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isLoop } from "../../src/core/http/hops.ts";
import { LoopGuard } from "../../src/core/rules/loop-guard.ts";
import { AnswerParts } from "../../src/drivers/shared/answer-parts.ts";
import { StreamedCall, StreamedCalls } from "../../src/drivers/shared/api/streamed-calls.ts";
import { readHeld } from "../../src/faces/cursor/h1/h1-requests.ts";
import { readSmallFile } from "../../src/files/read-small-file.ts";
import { createLimitedFetch } from "../../src/mcp/connection/limited-fetch.ts";
import { createGuardedFetch } from "../../src/mcp/oauth/guarded-fetch.ts";
import { readToolResult } from "../../src/mcp/tools/tool-result.ts";
import { readDataUrl } from "../../src/media/data-url.ts";
import { LabelCap } from "../../src/metrics/label-cap.ts";
import { LineSplitter } from "../../src/process/line-splitter.ts";
import { BodyBudget } from "../../src/server/gate/body-budget.ts";
import { UnverifiedTokens } from "../../src/server/gate/unverified-tokens.ts";
import { BodyCollector } from "../../src/wire/connect/body.ts";
import { encodeFrame, FLAG_END, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import { ServerExchange } from "../../src/wire/http/server-exchange.ts";
import { dataUrl } from "../media/support.ts";

const MIB = 1024 * 1024;

interface Limited {
  readonly limit: number;
  /** Takes as much in each piece. Throws, rejects, or returns false, if that is too much. */
  take(pieces: readonly number[]): unknown;
  /** Whether it comes as a whole only. */
  readonly isWhole?: true;
}

const sum = (pieces: readonly number[]): number => pieces.reduce((all, one) => all + one, 0);
const bytes = (length: number): Buffer => Buffer.alloc(length, "x");
const exchangeOf = (pieces: readonly number[]): ServerExchange =>
  new ServerExchange(Object.assign(bodyOf(pieces), { headers: {} }) as never, new EventEmitter() as never);

const bodyOf = (pieces: readonly number[]): Readable => Readable.from(pieces.map(bytes), { objectMode: false });

/** Cuts the bytes where the pieces end; the rest is the last one. */
function cut(all: Buffer, pieces: readonly number[]): Buffer[] {
  let end = 0;
  const ends = pieces.slice(0, -1).map((piece) => (end += piece));
  return [0, ...ends].map((start, n) => all.subarray(start, ends[n]));
}

function takesFrame(flags: number): Limited["take"] {
  return (pieces) => {
    const decoder = new FrameDecoder({ maxFrameBytes: flags === FLAG_END ? 10 : 100, maxEndBytes: 100 });
    let frames = 0;
    for (const chunk of cut(encodeFrame(bytes(sum(pieces)), flags), pieces)) decoder.push(chunk, () => frames++);
    return frames === 1;
  };
}

function takesBodies(options: ConstructorParameters<typeof BodyBudget>[0], sender: (n: number) => string) {
  return (pieces: readonly number[]) => {
    const budget = new BodyBudget(options);
    for (const [n, piece] of pieces.entries()) {
      budget.check(sender(n), piece);
      budget.add(sender(n), piece);
    }
  };
}

/** Has a server answer in pieces, and reads that. */
async function served(
  pieces: readonly number[],
  contentType: string,
  read: (url: string) => Promise<Response>,
): Promise<boolean> {
  const server = createServer(async (_, response) => {
    response.writeHead(200, { "content-type": contentType });
    for (const piece of pieces) {
      response.write(bytes(piece));
      await setImmediate();
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const answer = await read(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return (await answer.arrayBuffer()).byteLength === sum(pieces);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const limitedFetch = createLimitedFetch(100, () => new Error("It is too long."));

/** Limits that a peer, a client or a model can reach. */
const LIMITS: Readonly<Record<string, Limited>> = {
  "a message of a stream": { limit: 100, take: takesFrame(0) },
  "the end of a stream": { limit: 100, take: takesFrame(FLAG_END) },
  "the body of a refused call": {
    limit: 100,
    take: (pieces) => {
      const body = new BodyCollector(100);
      const isWhole = pieces.map((piece) => body.push(bytes(piece))).every(Boolean);
      expect(body.bytes()).toHaveLength(Math.min(100, sum(pieces)));
      return isWhole;
    },
  },
  "a line of a program": {
    limit: 100,
    take: (pieces) => {
      const lines: number[] = [];
      const splitter = new LineSplitter(100);
      for (const piece of [...pieces.map(bytes), Buffer.from("\n")])
        splitter.push(piece, ({ length }) => lines.push(length));
      return lines.length === 1 && lines[0] === sum(pieces);
    },
  },
  "a body of an MCP server": { limit: 100, take: (pieces) => served(pieces, "application/json", limitedFetch) },
  "a line of an MCP server's events": {
    limit: 100,
    take: (pieces) => served(pieces, "text/event-stream", limitedFetch),
  },
  "an answer about a sign-in": {
    limit: MIB,
    take: (pieces) => served(pieces, "application/json", (url) => createGuardedFetch("s", new URL(url))(url)),
  },
  "a small file": {
    limit: 100,
    isWhole: true,
    take: (pieces) => {
      const folder = mkdtempSync(join(tmpdir(), "excursor-limits-"));
      try {
        writeFileSync(join(folder, "file"), bytes(sum(pieces)));
        return readSmallFile(join(folder, "file"), 100)?.length === sum(pieces);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  },
  "an image in a URL": {
    limit: 100,
    isWhole: true,
    take: (pieces) => readDataUrl(dataUrl(bytes(sum(pieces))), 100).length === sum(pieces),
  },
  "an image of a hub's tool": {
    limit: 5 * MIB,
    isWhole: true,
    take: (pieces) => {
      const image = { type: "image" as const, mimeType: "image/png", data: bytes(sum(pieces)).toString("base64") };
      return readToolResult({ content: [image] }).content[0]?.type === "image";
    },
  },
  "unfinished bodies of all": {
    limit: 100,
    take: takesBodies({ maxBytes: 100, maxShareBytes: 1000 }, String),
  },
  "unfinished bodies of one": {
    limit: 100,
    take: takesBodies({ maxBytes: 1000, maxShareBytes: 100 }, () => "one"),
  },
  "a body of Cursor's client": {
    limit: 100,
    take: (pieces) => exchangeOf(pieces).readBody(100),
  },
  "an upload of Cursor's client": {
    limit: 100,
    take: async (pieces) => (await readHeld(exchangeOf(pieces), 100))?.isWhole,
  },
  "requests with unverified tokens": {
    limit: 5,
    take: (pieces) => {
      const unverified = new UnverifiedTokens({ maxRequests: 5, maxBodyBytes: 1 });
      for (let n = 0; n < sum(pieces); n++) unverified.admit({ id: String(n), token: undefined });
    },
  },
  "tool calls of an answer": {
    limit: 1024,
    take: (pieces) => {
      const calls = new StreamedCalls((name) => name);
      for (let n = 0; n < sum(pieces); n++) calls.begin("", "look");
    },
  },
  "the arguments of a call": {
    limit: 8 * MIB,
    take: (pieces) => {
      const call = new StreamedCall("1", "look");
      for (const piece of pieces) call.add("x".repeat(piece));
    },
  },
  "an answer that is kept": {
    limit: 4 * MIB,
    take: (pieces) => {
      const said = new AnswerParts();
      for (const piece of pieces) said.take({ type: "text", text: "x".repeat(piece) });
      return said.parts !== undefined;
    },
  },
  "rounds of hub calls": {
    limit: 5,
    take: (pieces) => {
      const guard = new LoopGuard(5);
      for (let n = 0; n < sum(pieces); n++) guard.beginStep();
      return guard.warn("look", {}) === undefined;
    },
  },
  "gateways before this one": {
    limit: 7,
    take: (pieces) => !isLoop(Array.from({ length: sum(pieces) }, String), "own"),
  },
  "values of a label": {
    limit: 5,
    take: (pieces) => {
      const cap = new LabelCap(5);
      return Array.from({ length: sum(pieces) }, (_, n) => cap.of(String(n))).every((value) => value !== "other");
    },
  },
};

async function isFine(take: () => unknown): Promise<boolean> {
  try {
    return (await take()) !== false;
  } catch {
    return false;
  }
}

describe("exactly as much is fine, and one more is refused", () => {
  it.each(Object.entries(LIMITS))("%s", async (_, { limit, take, isWhole }) => {
    const fits = (pieces: readonly number[]) => isFine(() => take(pieces));
    expect([await fits([limit]), await fits([limit + 1])]).toEqual([true, false]);
    if (isWhole) return;
    const third = Math.floor(limit / 3);
    const pieces = [third, third, limit - 2 * third];
    expect([await fits(pieces), await fits([...pieces, 1]), await fits([1, ...pieces])]).toEqual([true, false, false]);
  });
});
