import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { KEY } from "./gateway.ts";

export type Message = Readonly<Record<string, unknown>> & { readonly type: string };

/** A client on one WebSocket, which reads messages in order. */
export class SocketClient {
  readonly webSocket: WebSocket;
  readonly messages: Message[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  #read = 0;
  #wake = () => {};

  constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    webSocket.on("message", (data) => {
      this.messages.push(JSON.parse(String(data)) as Message);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      webSocket.on("close", (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#wake();
      });
    });
    webSocket.on("error", () => {});
  }

  send(message: unknown): void {
    this.webSocket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  create(fields: object = {}): void {
    this.send({ type: "response.create", model: "some-model", input: "hello", ...fields });
  }

  /** Returns the messages up to the first of one of these types, from where the last call stopped. */
  async until(...types: readonly string[]): Promise<readonly Message[]> {
    const from = this.#read;
    for (;;) {
      const at = this.messages.findIndex(({ type }, index) => index >= this.#read && types.includes(type));
      if (at !== -1) {
        this.#read = at + 1;
        return this.messages.slice(from, at + 1);
      }
      if (this.webSocket.readyState > 1) {
        throw new Error(`It closed before ${types.join(", ")}: ${JSON.stringify(this.messages.slice(from))}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  forget(): void {
    this.messages.length = 0;
    this.#read = 0;
  }

  async last(...types: readonly string[]): Promise<Message> {
    return (await this.until(...types)).at(-1) as Message;
  }
}

const socketUrl = (url: string, path: string): string => url.replace("http", "ws") + path;

/** Connects, or rejects with the status and body of the refusal. */
export function connect(
  gateway: { readonly url: string },
  headers: Readonly<Record<string, string>> = {},
  path = "/v1/responses",
): Promise<SocketClient> {
  const webSocket = new WebSocket(socketUrl(gateway.url, path), {
    headers: { authorization: `Bearer ${KEY}`, ...headers },
  });
  onTestFinished(() => webSocket.terminate());
  const client = new SocketClient(webSocket);
  return new Promise((resolve, reject) => {
    webSocket.once("open", () => resolve(client));
    webSocket.once("unexpected-response", (_, response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => reject({ status: response.statusCode, headers: response.headers, body: text }));
    });
  });
}
