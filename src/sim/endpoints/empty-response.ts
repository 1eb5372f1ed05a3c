import type { Route } from "../backend.ts";
import type { SimExchange } from "../sim-exchange.ts";

/** Reads a call to its end and answers with an empty message or an empty stream, in the encoding of the call. */
export const respondEmpty: Route = async (exchange) => {
  await discardBody(exchange);
  const type = contentType(exchange);
  if (type === "application/json") exchange.respondJson(200, {});
  else if (type.startsWith("application/connect+")) exchange.respond(200, endFrame(), { "content-type": type });
  else if (type.startsWith("application/grpc-web")) exchange.respond(200, trailerFrame(), { "content-type": type });
  else exchange.respond(200, "", { "content-type": "application/proto" });
};

export const contentType = (exchange: SimExchange): string =>
  exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";

export async function discardBody({ request }: SimExchange): Promise<void> {
  for await (const chunk of request) void chunk;
}

const endFrame = () => frame(0x02, "{}");
const trailerFrame = () => frame(0x80, "grpc-status: 0\r\n");

function frame(flags: number, text: string): Buffer {
  const bytes = Buffer.alloc(5 + text.length);
  bytes.writeUInt8(flags, 0);
  bytes.writeUInt32BE(text.length, 1);
  bytes.write(text, 5, "latin1");
  return bytes;
}
