import { WebSocket } from "ws";
import type { Answer, Question } from "../../gateway/support/dialect.ts";
import { withoutBeyond } from "./beyond.ts";
import type { Dialect } from "./dialects.ts";
import type { Check } from "./schemas.ts";

export interface Target {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

interface Request {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks as the clients of one dialect do, and holds every answer against the dialect's types and rules. */
export class Asker {
  readonly misses: string[] = [];
  /** True if an answer was an error from before its beginning. */
  hasBeenRefused = false;
  readonly #dialect: Dialect;
  readonly #target: Target;
  readonly #check: Check;
  readonly #met: (member: string) => void;

  constructor(dialect: Dialect, target: Target, check: Check, met: (member: string) => void) {
    this.#dialect = dialect;
    this.#target = target;
    this.#check = check;
    this.#met = met;
  }

  get model(): string {
    return this.#target.model;
  }

  /** Returns what was said, or nothing if the answer is an error. */
  async ask(question: Question, isStream: boolean, more: object = {}): Promise<Answer | undefined> {
    const { adapter, answer, event } = this.#dialect;
    const asked = { model: this.#target.model, ...question };
    const body = { ...adapter.body(asked, isStream), ...more };
    const path = adapter.path(asked, isStream);
    return isStream ? this.stream(path, body, event) : (await this.call(path, answer, { body })).answer;
  }

  /** One JSON value of this type, or an error of the dialect. */
  async call(
    path: string,
    type: string,
    request: Request,
  ): Promise<{ readonly json: unknown; readonly answer?: Answer | undefined }> {
    const response = await this.#send(path, request);
    const json = (await response.json()) as unknown;
    if (!response.ok) return { json: void this.#refused(response, json) };
    this.#hold(type, json);
    if (type !== this.#dialect.answer) return { json };
    this.misses.push(...this.#dialect.whole(json as never));
    this.#checkEcho(request.body, json, response);
    return { json, answer: this.#read(() => this.#dialect.adapter.answer(json)) };
  }

  /** Events of this type. */
  async stream(path: string, body: unknown, type: string, contentType = this.#dialect.contentType) {
    const response = await this.#send(path, { body });
    const text = await response.text();
    if (!response.ok) return void this.#refused(response, JSON.parse(text));
    this.#expect(response.headers.get("content-type"), contentType, "content-type");
    const events = this.#dialect.split(text);
    for (const one of events) {
      const isError = this.#dialect.failsWithBody && (one as { readonly error?: unknown }).error !== undefined;
      this.#hold(isError ? this.#dialect.error : type, one);
    }
    this.misses.push(...this.#dialect.ordered(events as never[], text));
    this.#checkEcho(body, (events.at(-1) as { readonly response?: unknown } | undefined)?.response, response);
    const { adapter, event, contentType: usual } = this.#dialect;
    return type === event && contentType === usual ? this.#read(() => adapter.streamed(text)) : undefined;
  }

  /** Sends messages over a WebSocket, each after the end of the answer to the one before. */
  async talk(path: string, messages: readonly ((before: readonly SocketEvent[]) => object)[], type: string) {
    const { url, key } = this.#target;
    const socket = new WebSocket(url.replace(/^http/, "ws") + path, { headers: this.#dialect.adapter.headers(key) });
    const events: SocketEvent[] = [];
    for (const message of messages) {
      const answer: SocketEvent[] = [];
      if (socket.readyState === WebSocket.CONNECTING) await new Promise((resolve) => socket.once("open", resolve));
      const ended = new Promise<void>((resolve, reject) => {
        socket.on("error", reject).on("close", () => reject(new Error("The connection was closed.")));
        socket.on("message", (data: Buffer) => {
          const event = JSON.parse(data.toString()) as SocketEvent;
          answer.push(event);
          const isRefused = event.type === "error" && "status" in event;
          if (isRefused || /^response\.(completed|failed|incomplete)$/.test(event.type)) resolve();
        });
      });
      socket.send(JSON.stringify(message(events)));
      await ended;
      socket.removeAllListeners();
      for (const event of answer) this.#hold(type, event);
      const isRefused = "status" in (answer[0] ?? {});
      if (!isRefused) this.misses.push(...this.#dialect.ordered(answer as never[], ""));
      events.push(...answer);
    }
    socket.close();
    return events;
  }

  async #send(path: string, { method = "POST", body, headers = {} }: Request): Promise<Response> {
    const { url, key } = this.#target;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return fetch(url + path, {
      method,
      headers: { "content-type": "application/json", ...this.#dialect.adapter.headers(key), ...headers },
      ...(method === "POST" && { body: text }),
    });
  }

  /** What no schema says of an error: its type fits its status, a wait is whole seconds, and its request can be named. */
  #refused({ status, headers }: Response, json: unknown): void {
    const { error, errorTypes, errorType, requestId } = this.#dialect;
    this.hasBeenRefused = true;
    this.#hold(error, json);
    const type = errorType(json as never);
    if (type !== undefined && !errorTypes[status]?.includes(type)) this.misses.push(`${status} has the type ${type}`);
    const wait = headers.get("retry-after");
    if (wait !== null && !/^\d+$/.test(wait)) this.misses.push(`retry-after is ${wait}`);
    if (wait !== null && ![429, 503, 529].includes(status)) this.misses.push(`${status} has retry-after`);
    if (requestId && !headers.get(requestId)) this.misses.push(`${requestId} is missing`);
    const { request_id: named } = json as { readonly request_id?: string };
    if (requestId && named !== undefined) this.#expect(named, headers.get(requestId), "request_id");
  }

  #hold(type: string, value: unknown): void {
    const official = withoutBeyond(value, type, ({ member }) => this.#met(member));
    this.misses.push(...this.#check(type, official));
  }

  #read<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.misses.push((error as Error).message);
      return undefined;
    }
  }

  #checkEcho(asked: unknown, answer: unknown, { headers }: Response): void {
    const ignored = headers.get("x-excursor-ignored")?.split(", ") ?? [];
    this.misses.push(...(this.#dialect.echoOfIgnored?.(asked, answer, ignored) ?? []));
  }

  #expect(given: string | null, expected: string | null, what: string): void {
    if (given?.split(";")[0] !== expected) this.misses.push(`${what} is ${given}, not ${expected}`);
  }
}

export interface SocketEvent {
  readonly type: string;
  readonly status?: number;
  readonly response?: { readonly id: string };
}
