import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { BidiAppendRequestSchema } from "../../../src/gen/aiserver/v1/bidi_pb.ts";
import { APPEND_PATH, RUN_SSE_PATH } from "../../../src/wire/connect/sse-run.ts";

export interface Append {
  readonly seqno: number;
  readonly requestId: string;
  /** Whichever of the two encodings was used. */
  readonly data: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  /** Answers it; by default with an empty message. */
  answer(status?: number, body?: string): void;
}

/** The server's side of the HTTP/1.1 pair, told by the test what to do. */
export class PairServer {
  readonly appends: Append[] = [];
  readonly downloads: Array<{
    readonly headers: IncomingHttpHeaders;
    readonly body: Buffer;
    readonly response: ServerResponse;
  }> = [];
  connections = 0;
  onDownload: (response: ServerResponse) => void = (response) => openDownload(response);
  onAppend: (append: Append) => void = (append) => append.answer();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on("connection", () => this.connections++);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const { headers } = request;
    if (request.url === RUN_SSE_PATH) {
      this.downloads.push({ headers, body, response });
      this.onDownload(response);
    } else if (request.url === APPEND_PATH) {
      const { appendSeqno, requestId, data, dataBinary } = fromBinary(BidiAppendRequestSchema, body);
      const append: Append = {
        seqno: Number(appendSeqno),
        requestId: requestId?.requestId ?? "",
        data: data ? Buffer.from(data, "hex").toString() : Buffer.from(dataBinary ?? []).toString(),
        headers,
        raw: body,
        answer(status = 200, answer = "") {
          response.writeHead(status, { "content-type": status === 200 ? "application/proto" : "application/json" });
          response.end(answer);
        },
      };
      this.appends.push(append);
      this.onAppend(append);
    } else {
      response.writeHead(404).end();
    }
  }
}

export function openDownload(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/connect+proto" });
  response.flushHeaders();
}
