import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface GeminiApi {
  readonly url: string;
  /** The bodies of all requests, as text. */
  readonly requests: string[];
  close(): void;
}

/** As much of Gemini's API as its command line needs: every question gets the same thought and the same answer. */
export async function startGeminiApi(thought: string, answer: string): Promise<GeminiApi> {
  const requests: string[] = [];
  const parts = [{ text: thought, thought: true }, { text: answer }];
  const reply = {
    candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
  };
  const server = createServer(async (request, response) => {
    requests.push(await text(request));
    const { pathname } = new URL(request.url ?? "", "http://127.0.0.1");
    if (pathname.endsWith(":streamGenerateContent")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: ${JSON.stringify(reply)}\r\n\r\n`);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(pathname.endsWith(":countTokens") ? { totalTokens: 7 } : reply));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
