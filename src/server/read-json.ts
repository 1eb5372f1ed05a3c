import type { IncomingMessage } from "node:http";
import type { Limits } from "../config/limits.ts";
import { ExcursorError } from "../core/errors.ts";
import { isDeeperThan } from "../core/json/json-depth.ts";
import type { GatewayExchange } from "./gateway-exchange.ts";
import { Refusal } from "./refusal.ts";

export type BodySource = Pick<GatewayExchange, "request" | "response" | "unverified" | "bodies" | "sender" | "signal">;

/** Reads the body as JSON. Checks size and depth before it allocates or parses. */
export async function readJson(exchange: BodySource, limits: Limits): Promise<unknown> {
  const { request, response, unverified, bodies, sender } = exchange;
  const length = request.headers["content-length"];
  const announced = Number(length ?? 0);
  if (announced > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  let maxBytes = limits.bodyBytes;
  if (unverified && (length === undefined || announced > unverified.maxBodyBytes)) {
    if (!(await unverified.verify(exchange.signal))) maxBytes = Math.min(maxBytes, unverified.maxBodyBytes);
    if (announced > maxBytes) throw tooLarge(maxBytes);
  }
  bodies.check(sender, announced);
  // The client waits for this, and the gate has let it pass.
  if (/^100-continue$/i.test(request.headers.expect ?? "")) response.writeContinue();
  let held = 0;
  const take = (bytes: number) => {
    bodies.check(sender, bytes);
    bodies.add(sender, bytes);
    held += bytes;
  };
  try {
    return parseJson(await readBody(request, { maxBytes, idleMs: limits.bodyIdleMs }, take), limits);
  } finally {
    bodies.add(sender, -held);
  }
}

/** Parses a body. Checks its depth first. */
export function parseJson(body: Buffer, { jsonDepth }: Pick<Limits, "jsonDepth">): unknown {
  if (isDeeperThan(body, jsonDepth)) {
    throw new ExcursorError("json_too_deep", [jsonDepth]);
  }
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    const position = /position \d+/.exec((error as Error).message)?.[0];
    // The parser's own message quotes the user's body, which must not be logged.
    throw new ExcursorError("invalid_json", `The body is not valid JSON${position ? ` (at ${position})` : ""}.`);
  }
}

/** Calls `take` with the size of every chunk before keeping it; `take` throws if there is no room. */
function readBody(
  request: IncomingMessage,
  { maxBytes, idleMs }: { readonly maxBytes: number; readonly idleMs: number },
  take: (bytes: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void) => {
      clearTimeout(silence);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      act();
    };
    const silence = setTimeout(() => settle(() => reject(stalled(idleMs))), idleMs);
    const onData = (chunk: Buffer) => {
      silence.refresh();
      size += chunk.length;
      try {
        if (size > maxBytes) throw tooLarge(maxBytes);
        take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ExcursorError("canceled", "The client closed the connection.")));
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

const tooLarge = (bytes: number): ExcursorError => new ExcursorError("body_too_large", [bytes]);

const stalled = (ms: number): Refusal =>
  new Refusal(408, "body_stalled", [Math.round(ms / 1000)], { headers: { connection: "close" } });
