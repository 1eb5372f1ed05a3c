import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type DecodedRequest, type DecodedSpan, decodeOtlp } from "./otlp-decoder.ts";

export interface Collector {
  readonly url: string;
  readonly requests: readonly DecodedRequest[];
  readonly headers: readonly IncomingHttpHeaders[];
  readonly spans: readonly DecodedSpan[];
  /** What was sent that is not OTLP. */
  readonly faults: readonly unknown[];
  /** What it answers from now on. */
  answer(status: number, body?: object): void;
  close(): Promise<void>;
}

/** A collector that takes OTLP over HTTP with JSON at `/v1/traces`, and nothing that the strict decoder does not take. */
export async function startCollector(port = 0): Promise<Collector> {
  const requests: DecodedRequest[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const faults: unknown[] = [];
  let [status, body]: [number, object] = [200, {}];
  const server = createServer(async (request, response) => {
    try {
      if (request.method !== "POST" || request.url !== "/v1/traces")
        throw new Error(`${request.method} ${request.url}`);
      if (request.headers["content-type"] !== "application/json") throw new Error("content type");
      headers.push(request.headers);
      const decoded = decodeOtlp(await text(request));
      if (status === 200) requests.push(decoded);
    } catch (error) {
      faults.push(error);
      status = 400;
    }
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    faults,
    get spans() {
      return requests.flatMap(({ spans }) => spans);
    },
    answer(nextStatus, nextBody = {}) {
      [status, body] = [nextStatus, nextBody];
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
