import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ExcursorError } from "../core/errors.ts";
import type { Usage } from "../core/events.ts";
import type { TraceContext } from "../core/http/trace-context.ts";
import type { JsonValue, Principal } from "../core/turn.ts";
import type { FaceModule } from "../faces/shared/face-module.ts";
import type { RequestRecording } from "../usage/request-recording.ts";
import type { BodyBudget } from "./gate/body-budget.ts";
import type { Newcomer } from "./gate/newcomers.ts";
import { Refusal } from "./refusal.ts";
import { type Probe, watchClient } from "./watch-client.ts";

export interface ExchangeNotes {
  route: string;
  model: string | undefined;
  firstEventMs: number | undefined;
  usage: Usage | undefined;
  error: ExcursorError | undefined;
}

export interface ExchangeOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Removes secrets from error messages. */
  readonly redact: (text: string) => string;
  /** Limits the memory of all unfinished request bodies. */
  readonly bodies: BodyBudget;
}

export class GatewayExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly startedAt = performance.now();
  readonly notes: ExchangeNotes = {
    route: "none",
    model: undefined,
    firstEventMs: undefined,
    usage: undefined,
    error: undefined,
  };
  /** True for requests of the dashboard. Set by the gateway. */
  isInternal = false;
  /** Set by the gate. */
  principal: Principal | undefined;
  /** Collects the usage record of this request. Set by the gateway. */
  recording: RequestRecording | undefined;
  /** The trace of the request, if there are traces. Set by the gateway. */
  trace: TraceContext | undefined;
  /** Set by the gateway while the backend has not yet accepted the request's Cursor token. */
  newcomer: Newcomer | undefined;
  /** Finds out whether a client that closed its side still reads. Set once a stream has begun. */
  probe: Probe | undefined;
  readonly redact: (text: string) => string;
  readonly bodies: BodyBudget;
  readonly #abort = new AbortController();
  readonly #bytesBefore: number;

  constructor({ request, response, redact, bodies }: ExchangeOptions) {
    this.request = request;
    this.response = response;
    this.redact = redact;
    this.bodies = bodies;
    this.id = requestId(request);
    this.#bytesBefore = request.socket.bytesWritten;
    watchClient(this);
  }

  /** Aborted, with the reason, when the client is gone or the gateway cancels the request. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The principal. Throws on open routes, where the gate may let a request pass without one. */
  get asker(): Principal {
    if (!this.principal) throw new ExcursorError("internal", "A request has no principal.");
    return this.principal;
  }

  /** Whose share of the body budget the request uses. All unverified tokens share one. */
  get sender(): string {
    return this.newcomer ? "newcomers" : this.asker.id;
  }

  get query(): URLSearchParams {
    return new URLSearchParams((this.request.url ?? "").split("?").slice(1).join("?"));
  }

  get bytesWritten(): number {
    return this.request.socket.bytesWritten - this.#bytesBefore;
  }

  cancel(reason: ExcursorError): void {
    this.#abort.abort(reason);
  }

  /** Cancels the request because the client is gone. */
  gone(): void {
    this.cancel(CLIENT_GONE);
  }

  /** Returns the reason of the cancellation if there was one, else the thrown error. */
  errorFrom(thrown: unknown): ExcursorError {
    const { reason } = this.signal;
    return reason instanceof ExcursorError ? reason : ExcursorError.from(thrown);
  }

  reply(status: number, body: JsonValue, headers: Readonly<Record<string, string>> = {}): void {
    this.#send(status, JSON.stringify(body), headers);
  }

  replyText(status: number, text: string, contentType: string): void {
    this.#send(status, text, { "content-type": contentType });
  }

  /** Sends an error in the face's format. If the headers are out already, closes the connection instead. */
  fail(thrown: unknown, face: FaceModule): void {
    const error = this.errorFrom(thrown);
    this.notes.error = error;
    if (this.response.headersSent || this.response.destroyed) {
      this.response.destroy();
      return;
    }
    const { status, headers, body } = face.error(error, this.id);
    const [code, more] = error instanceof Refusal ? [error.status, error.headers] : [status, {}];
    this.#send(code, this.redact(JSON.stringify({ ...body, request_id: this.id })), { ...headers, ...more });
  }

  #send(status: number, text: string, headers: Readonly<Record<string, string>>): void {
    this.response.writeHead(status, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      ...this.commonHeaders(),
      ...headers,
    });
    this.response.end(text);
  }

  commonHeaders(): Record<string, string> {
    // OpenAI's clients read `x-request-id`, Anthropic's read `request-id`.
    return { "x-request-id": this.id, "request-id": this.id, "x-content-type-options": "nosniff" };
  }
}

/** Returns the client's own id if it is safe in a header and a log, else a new one. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}

const CLIENT_GONE = new ExcursorError("canceled", "The client closed the connection.", { code: "client_gone" });
