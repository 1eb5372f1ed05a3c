import { createServer } from "node:http";
import type { Config } from "../load-config.ts";

/** Connections of whoever asks a gateway that has not started, at most. */
const MAX_CONNECTIONS = 64;

/**
 * Answers in the place of a gateway that waits for Redis: it lives, and is not ready. Returns a function that ends this and
 * frees the port. If the port is taken, the gateway reports that itself when it starts.
 */
export function answerWaiting({ host, port, limits }: Pick<Config, "host" | "port" | "limits">): () => Promise<void> {
  const server = createServer(
    { headersTimeout: limits.headersTimeoutMs, maxHeaderSize: limits.headerBytes, keepAliveTimeout: 1 },
    (request, response) => {
      request.resume();
      const isAlive = request.url === "/healthz";
      response.writeHead(isAlive ? 200 : 503, { "content-type": "application/json", connection: "close" });
      response.end(JSON.stringify({ status: isAlive ? "ok" : "waiting for redis" }));
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on("error", () => {});
  server.listen(port, host);
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
