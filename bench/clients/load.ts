import { connect, type Socket } from "node:net";
import { NUMBER_DIGITS, nowUs, type Plan, promptOf, readNumber, TIME_DIGITS, textOf } from "../peers/plan.ts";
import { TOOL_NAME } from "../peers/tool-call.ts";
import { type BenchDialect, CHAT } from "./dialect.ts";

export interface Address {
  readonly port: number;
  readonly key: string;
}

const TOOL = { type: "function", function: { name: TOOL_NAME, parameters: { type: "object", properties: {} } } };
const CALL_ID = /"id":"(sess_[\w-]{22}__call_\d+)"/;
const EVENT_END = "\n\n";

/** One connection of a client, on a raw socket. One request at a time. */
export class Connection {
  readonly #address: Address;
  readonly #dialect: BenchDialect;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #at: "head" | "size" | "chunk" | "chunk-end" | "trailer" | "body" = "head";
  #left = 0;
  #answer: Answer | undefined;
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(address: Address, dialect = CHAT) {
    this.#address = address;
    this.#dialect = dialect;
    this.#socket = connect({ port: address.port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (chunk) => this.#receive(chunk));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the connection was closed in the middle of an answer")));
  }

  /** Sends a request with the plan, and reads the answer to its end. */
  ask(plan: Plan, answer: Answer): Promise<void> {
    return this.send([{ role: "user", content: promptOf(plan) }], plan, answer);
  }

  /** Sends a whole conversation that ends with the plan. Offers a tool if the plan calls one. */
  send(messages: readonly object[], plan: Plan, answer: Answer): Promise<void> {
    const isStream = answer instanceof StreamedAnswer;
    const tools = plan.isCall || messages.length > 1 ? { tools: [TOOL] } : {};
    const body = JSON.stringify({ ...this.#dialect.body(messages, isStream), ...tools });
    const { port, key } = this.#address;
    this.#answer = answer;
    answer.begin(plan, this.#dialect);
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(
        `POST ${this.#dialect.path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    });
  }

  /** Stops reading, and keeps the connection open. */
  stall(): void {
    this.#socket.pause();
  }

  /** Disconnects. The pending promise is never settled. */
  destroy(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length > 0 ? Buffer.concat([this.#received, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const next = this.#advance(bytes, at);
      if (next === undefined) break;
      at = next;
    }
    this.#received = bytes.subarray(at);
  }

  /** Consumes one element of the response at `at`. Returns where the next begins, or undefined if it is incomplete. */
  #advance(bytes: Buffer, at: number): number | undefined {
    switch (this.#at) {
      case "head": {
        const end = bytes.indexOf("\r\n\r\n", at);
        if (end === -1) return undefined;
        this.#readHead(bytes.toString("latin1", at, end));
        return end + 4;
      }
      case "size": {
        const end = bytes.indexOf("\r\n", at);
        if (end === -1) return undefined;
        this.#left = Number.parseInt(bytes.toString("latin1", at, end), 16);
        this.#at = this.#left === 0 ? "trailer" : "chunk";
        return end + 2;
      }
      case "chunk":
      case "body": {
        const end = Math.min(bytes.length, at + this.#left);
        if (end === at) return undefined;
        this.#left -= end - at;
        this.#answer?.push(bytes.subarray(at, end));
        if (this.#left > 0) return end;
        if (this.#at === "chunk") this.#at = "chunk-end";
        else this.#finish();
        return end;
      }
      case "chunk-end":
      case "trailer": {
        if (bytes.length < at + 2) return undefined;
        if (this.#at === "chunk-end") this.#at = "size";
        else this.#finish();
        return at + 2;
      }
    }
  }

  #readHead(head: string): void {
    const length = /content-length: *(\d+)/i.exec(head)?.[1];
    this.#at = length === undefined ? "size" : "body";
    this.#left = Number(length ?? 0);
    if (!head.startsWith("HTTP/1.1 200")) this.#fail(new Error(`unexpected answer: ${head.split("\r\n", 1)}`));
  }

  #finish(): void {
    this.#at = "head";
    const problem = this.#answer?.finish();
    if (problem !== undefined) this.#fail(new Error(problem));
    this.#settle?.resolve();
    this.#settle = undefined;
  }

  #fail(error: Error): void {
    this.#settle?.reject(error);
    this.#settle = undefined;
  }
}

/** Opens a stream. Resolves at its first token. */
export function openStream(address: Address, plan: Plan): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const connection = new Connection(address);
    const answer = new StreamedAnswer({ onFirst: () => resolve(connection) });
    connection.ask(plan, answer).catch(reject);
  });
}

interface Answer {
  begin(plan: Plan, dialect: BenchDialect): void;
  push(body: Buffer): void;
  /** Returns what is wrong with the answer, if anything. */
  finish(): string | undefined;
}

/** A streamed answer: counts its tokens and checks their numbers. */
export class StreamedAnswer implements Answer {
  tokens = 0;
  /** Tokens that never arrived, and tokens that arrived twice or out of order. */
  lost = 0;
  repeated = 0;
  /** Microseconds from the request to the first token. */
  firstTokenUs = 0;
  callId: string | undefined;
  readonly #latenciesUs: number[] | undefined;
  readonly #onFirst: (() => void) | undefined;
  #askedUs = 0;
  #isPaced = false;
  #isCall = false;
  #planned = 0;
  #next = 0;
  #rest: Buffer = Buffer.alloc(0);
  #isDone = false;
  #dialect = CHAT;

  /** `latenciesUs` receives the time of each paced token from the backend to here. */
  constructor(options: { readonly latenciesUs?: number[]; readonly onFirst?: () => void } = {}) {
    this.#latenciesUs = options.latenciesUs;
    this.#onFirst = options.onFirst;
  }

  begin({ tokens, rate = 0, isCall = false }: Plan, dialect: BenchDialect): void {
    this.#dialect = dialect;
    this.#planned = tokens;
    this.#isCall = isCall;
    this.#isPaced = rate > 0;
    this.#askedUs = nowUs();
  }

  push(body: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, body]) : body;
    const { eventEnd = EVENT_END } = this.#dialect;
    const end = bytes.lastIndexOf(eventEnd) + eventEnd.length;
    if (end < eventEnd.length) {
      this.#rest = bytes;
      return;
    }
    this.#rest = bytes.subarray(end);
    this.#read(end === bytes.length ? bytes : bytes.subarray(0, end));
  }

  finish(): string | undefined {
    this.lost += this.#planned - this.#next;
    return this.#isDone ? undefined : "an answer broke off";
  }

  #read(events: Buffer): void {
    const now = this.#isPaced || this.tokens === 0 ? nowUs() : 0;
    const { beforeToken, end } = this.#dialect;
    for (let at = events.indexOf(beforeToken); at !== -1; at = events.indexOf(beforeToken, at)) {
      at += beforeToken.length;
      const number = readNumber(events, NUMBER_DIGITS, at);
      // Not a token: an empty text, or a tag.
      if (Number.isNaN(number)) continue;
      this.#take(number, now);
      if (this.#isPaced) this.#latenciesUs?.push(now - readNumber(events, TIME_DIGITS, at + NUMBER_DIGITS));
    }
    if (this.#isCall) this.callId ??= CALL_ID.exec(events.toString("latin1"))?.[1];
    this.#isDone ||= events.includes(end);
  }

  #take(number: number, now: number): void {
    if (this.tokens++ === 0) {
      this.firstTokenUs = now - this.#askedUs;
      this.#onFirst?.();
    }
    if (number !== this.#next) {
      if (number > this.#next) this.lost += number - this.#next;
      else this.repeated++;
    }
    this.#next = Math.max(this.#next, number + 1);
  }
}

export class WholeAnswer implements Answer {
  #body = "";
  #planned = 0;

  begin({ tokens }: Plan): void {
    this.#planned = tokens;
    this.#body = "";
  }

  push(body: Buffer): void {
    this.#body += body.toString("latin1");
  }

  finish(): string | undefined {
    return this.#body.includes(`"content":"${textOf({ tokens: this.#planned })}"`)
      ? undefined
      : `not the answer: ${this.#body}`;
  }
}
