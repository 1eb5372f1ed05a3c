import type { Route, Routes } from "../backend.ts";
import type { Exchange } from "../exchange.ts";

/** Telemetry: read to its end, kept nowhere, answered as if it had been. */
export const analyticsRoutes: Routes = {
  "POST /aiserver.v1.AnalyticsService/BootstrapStatsig": async (exchange, backend) => {
    if (contentType(exchange) !== "application/json") return swallow(exchange, backend);
    await discardBody(exchange);
    // Proto JSON would leave the empty string out, and clients read it.
    exchange.respondJson(200, { config: "" });
  },
  "POST /aiserver.v1.AnalyticsService/*": (exchange, backend) => swallow(exchange, backend),
};

/** An empty message or an empty stream, in the encoding in which the caller asked. */
const swallow: Route = async (exchange) => {
  await discardBody(exchange);
  const type = contentType(exchange);
  if (type === "application/json") exchange.respondJson(200, {});
  else if (type.startsWith("application/connect+")) exchange.respond(200, endFrame(), { "content-type": type });
  else if (type.startsWith("application/grpc-web")) exchange.respond(200, trailerFrame(), { "content-type": type });
  else exchange.respond(200, "", { "content-type": "application/proto" });
};

const contentType = (exchange: Exchange): string =>
  exchange.header("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";

const endFrame = () => frame(0x02, "{}");
const trailerFrame = () => frame(0x80, "grpc-status: 0\r\n");

function frame(flags: number, text: string): Buffer {
  const bytes = Buffer.alloc(5 + text.length);
  bytes.writeUInt8(flags, 0);
  bytes.writeUInt32BE(text.length, 1);
  bytes.write(text, 5, "latin1");
  return bytes;
}

async function discardBody({ request }: Exchange): Promise<void> {
  for await (const chunk of request) void chunk;
}
