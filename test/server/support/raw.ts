import { connect, type Socket } from "node:net";

/** A connection on which a test writes what it likes. */
export class RawConnection {
  readonly socket: Socket;
  received = "";
  isClosed = false;
  #wake = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.setEncoding("utf8").on("data", (chunk) => {
      this.received += chunk;
      this.#wake();
    });
    this.socket.on("error", () => {}).on("end", () => this.socket.end());
    this.socket.on("close", () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** Waits until a text has arrived, so many times. */
  async until(text: string, times = 1): Promise<string> {
    while (this.received.split(text).length <= times) {
      if (this.isClosed) throw new Error(`closed without ${text}: ${JSON.stringify(this.received.slice(0, 2000))}`);
      await this.#change();
    }
    return this.received;
  }

  async closed(): Promise<string> {
    while (!this.isClosed) await this.#change();
    return this.received;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Sends a request as it stands and gives the status and body of the answer; the connection is closed after it. */
export async function rawRequest(port: number, head: readonly string[], body = ""): Promise<RawAnswer> {
  const connection = new RawConnection(port);
  connection.send(`${[...head, "connection: close"].join("\r\n")}\r\n\r\n${body}`);
  return readAnswer(await connection.closed());
}

export function readAnswer(text: string): RawAnswer {
  const [top = "", rest = ""] = text.split(/\r\n\r\n(.*)/s);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(top)?.[1] ?? 0), head: top.toLowerCase(), body: rest };
}

export interface RawAnswer {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}
