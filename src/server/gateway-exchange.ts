import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ExcursorError } from "../core/errors.ts";
import type { Usage } from "../core/events.ts";
import { isRequestId } from "../core/http/request-id.ts";
import type { TraceContext } from "../core/http/trace-context.ts";
import type { JsonValue, Principal } from "../core/turn.ts";
import { publicCode } from "../faces/shared/errors/http-errors.ts";
import type { FaceModule } from "../faces/shared/face-module.ts";
import type { RequestRecording } from "../usage/record/request-recording.ts";
import type { Seat } from "./gate/admission.ts";
import type { BodyBudget } from "./gate/body-budget.ts";
import { Refusal } from "./refusal.ts";
import { type Probe, watchClient } from "./watch-client.ts";

export interface ExchangeNotes {
  route: string;
  /** The face that has answered, if it is not the one of the request's own route. */
  face?: string;
  model: string | undefined;
  firstEventMs: number | undefined;
  usage: Usage | undefined;
  error: ExcursorError | undefined;
}

export interface ExchangeOptions {
  readonly request: IncomingMessage;
  /** Removes secrets from error messages. */
  readonly redact: (text: string) => string;
  /** Limits the memory of all unfinished request bodies. */
  readonly bodies: BodyBudget;
}

/** How a request ended. */
export interface Outcome {
  readonly status: number;
  /** The error code, if it failed. */
  readonly error: string | undefined;
}

/** One request of a client and its answer, whatever carries them. */
export abstract class Exchange {
  /** The request of HTTP that it came with. Its headers apply. */
  readonly request: IncomingMessage;
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
  /** What the request holds of its principal's limits. Set by the gateway. */
  seat: Seat | undefined;
  /** The trace of the request, if there are traces. Set by the gateway. */
  trace: TraceContext | undefined;
  readonly redact: (text: string) => string;
  readonly bodies: BodyBudget;
  readonly #abort = new AbortController();
  readonly #bytesBefore: number;

  constructor({ request, redact, bodies }: ExchangeOptions, id: string) {
    this.request = request;
    this.redact = redact;
    this.bodies = bodies;
    this.id = id;
    this.#bytesBefore = request.socket.bytesWritten;
  }

  /** For the log: a method of HTTP, or `MESSAGE`. */
  abstract get method(): string | undefined;

  /** Returns how it ended. Called when it is over. */
  abstract outcome(): Outcome;

  /** Aborted, with the reason, when the client is gone or the gateway cancels the request. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Set if the backend had not yet accepted the request's Cursor token when it came. */
  get unverified(): Seat["unverified"] {
    return this.seat?.unverified;
  }

  /** The principal. Throws on open routes, where the gate may let a request pass without one. */
  get asker(): Principal {
    if (!this.principal) throw new ExcursorError("internal", "A request has no principal.");
    return this.principal;
  }

  /** Whose share of the body budget the request uses. All unverified tokens share one. */
  get sender(): string {
    return this.unverified ? "unverified" : this.asker.id;
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

  protected outcomeWith(status: number, isWhole: boolean): Outcome {
    if (this.signal.aborted && !isWhole) return { status: 499, error: "client_gone" };
    return { status, error: this.notes.error && publicCode(this.notes.error) };
  }
}

export interface HttpExchangeOptions extends ExchangeOptions {
  readonly response: ServerResponse;
  readonly upgradeHead?: Buffer | undefined;
}

/** A request of HTTP and its response. */
export class GatewayExchange extends Exchange {
  readonly response: ServerResponse;
  /** The bytes after the headers of a request that asks for another protocol. */
  readonly upgradeHead: Buffer | undefined;
  /** Finds out whether a client that closed its side still reads. Set once a stream has begun. */
  probe: Probe | undefined;

  #hasSwitched = false;

  constructor(options: HttpExchangeOptions) {
    super(options, requestId(options.request));
    this.response = options.response;
    this.upgradeHead = options.upgradeHead;
    watchClient(this);
  }

  get method(): string | undefined {
    return this.request.method;
  }

  outcome(): Outcome {
    if (this.#hasSwitched) return { status: 101, error: undefined };
    return this.outcomeWith(this.response.statusCode, this.response.writableFinished);
  }

  /** Ends the exchange, since the connection speaks another protocol now. */
  switchProtocols(): void {
    this.#hasSwitched = true;
    this.response.detachSocket(this.request.socket);
    this.response.emit("close");
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
    const refusal = error instanceof Refusal ? error : undefined;
    const { status, headers, body } = face.error(error, this.id, refusal?.status);
    const text = this.redact(JSON.stringify({ ...body, request_id: this.id }));
    this.#send(status, text, { ...headers, ...refusal?.headers });
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
  return isRequestId(given) ? given : randomUUID();
}

const CLIENT_GONE = new ExcursorError("client_gone");
