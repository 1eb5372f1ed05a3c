import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Splitter {
  readonly url: string;
  /** The requests so far. */
  readonly sent: readonly SentRequest[];
}

interface SentRequest {
  /** The last part of the path. */
  readonly name: string;
  readonly requestId: string;
  /** Which gateway got it. */
  readonly at: number;
}

export interface SplitterOptions {
  readonly targets: readonly string[];
  /** `append`: RunSSE waits until the first BidiAppend is answered. `download`: appends wait for the headers of RunSSE. */
  readonly first: "append" | "download";
}

/**
 * A balancer for HTTP/1.1 that never sends two halves of a run to one gateway: RunSSE goes to the first, BidiAppend to the others
 * by turns.
 */
export async function startSplitter(
  defer: (cleanup: () => unknown) => void,
  { targets, first }: SplitterOptions,
): Promise<Splitter> {
  const sent: SentRequest[] = [];
  let appends = 0;
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const server = createServer(async (incoming, response) => {
    const name = incoming.url?.split("/").at(-1) ?? "";
    const half = name === "RunSSE" ? "download" : name === "BidiAppend" ? "append" : "other";
    const requestId = String(incoming.headers["x-request-id"]);
    const gate = gates.get(requestId) ?? Promise.withResolvers<void>();
    gates.set(requestId, gate);
    if (half !== "other" && half !== first) await gate.promise;
    const at = half === "append" ? 1 + (appends++ % (targets.length - 1)) : 0;
    sent.push({ name, requestId, at });
    const outgoing = request(new URL(incoming.url ?? "/", targets[at]), {
      method: incoming.method ?? "GET",
      headers: incoming.headers,
    });
    outgoing.on("error", () => response.destroy());
    outgoing.on("response", (answer) => {
      if (half === first) gate.resolve();
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    response.once("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}
