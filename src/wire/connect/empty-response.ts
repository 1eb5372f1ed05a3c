import { mediaType } from "../http/http-errors.ts";
import type { ServerExchange } from "../http/server-exchange.ts";
import { encodeFrame, FLAG_END } from "./envelope.ts";
import { grpcTrailers } from "./frame-writer.ts";

/**
 * Reads a call to its end, keeps nothing of it, and answers with an empty message or an empty stream, in the encoding of the
 * call. `json` is what it has as JSON.
 */
export async function respondEmpty(exchange: ServerExchange, json: object = {}): Promise<void> {
  await exchange.discardBody();
  const type = mediaType(exchange.header("content-type"));
  if (type === "application/json" || exchange.method === "GET") exchange.respondJson(200, json);
  else if (type.startsWith("application/connect+")) exchange.respond(200, END, { "content-type": type });
  else if (type.startsWith("application/grpc-web")) exchange.respond(200, grpcTrailers(), { "content-type": type });
  else exchange.respond(200, "", { "content-type": "application/proto" });
}

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
