import { encodeFrame, FLAG_END } from "../../wire/connect/envelope.ts";
import { grpcTrailers } from "../../wire/connect/frame-writer.ts";
import type { Route } from "../backend.ts";
import type { SimExchange } from "../sim-exchange.ts";

/** Reads a call to its end and answers with an empty message or an empty stream, in the encoding of the call. */
export const respondEmpty: Route = async (exchange) => {
  await discardBody(exchange);
  const type = contentType(exchange);
  if (type === "application/json") exchange.respondJson(200, {});
  else if (type.startsWith("application/connect+")) exchange.respond(200, END, { "content-type": type });
  else if (type.startsWith("application/grpc-web")) exchange.respond(200, grpcTrailers(), { "content-type": type });
  else exchange.respond(200, "", { "content-type": "application/proto" });
};

export const contentType = (exchange: SimExchange): string =>
  exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";

export async function discardBody({ request }: SimExchange): Promise<void> {
  for await (const chunk of request) void chunk;
}

const END = encodeFrame(Buffer.from("{}"), FLAG_END);
