import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ExcursorError } from "../core/errors.ts";
import type { Usage } from "../core/events.ts";
import type { JsonValue, Principal } from "../core/turn.ts";
import type { FaceModule } from "../faces/shared/face-module.ts";
import type { BodyBudget } from "./gate/body-budget.ts";
import type { Newcomer } from "./gate/newcomers.ts";
import { Refusal } from "./refusal.ts";
import { type Probe, watchClient } from "./watch-client.ts";

/** What a request leaves behind for its log line. */
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
  /** Takes secrets out of whatever is said about an error. */
  readonly redact: (text: string) => string;
  /** What all bodies may take that are being received. */
  readonly bodies: BodyBudget;
}

/** One request and its answer, from the first header to the last byte. */
export class Exchange {
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
  /** Who asks; the gate sets it. */
  principal: Principal | undefined;
  /** There as long as nobody has accepted the token that came with the request; the gateway sets it. */
  newcomer: Newcomer | undefined;
  /** How to make a dead client notice itself once the answer has begun; a stream sets it. */
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

  /** Aborted when nobody waits for the answer any more, with the reason. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Who asks, where the gate lets nobody pass without a name. */
  get asker(): Principal {
    if (!this.principal) throw new ExcursorError("internal", "A request came from nobody.");
    return this.principal;
  }

  /** Who the bytes of the body count for; those of made-up tokens count together. */
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

  /** The client cannot be answered any more. */
  gone(): void {
    this.cancel(CLIENT_GONE);
  }

  /** The error that really ended this exchange: a cancelled answer fails with what it was cancelled for. */
  errorFrom(thrown: unknown): ExcursorError {
    const { reason } = this.signal;
    return reason instanceof ExcursorError ? reason : ExcursorError.from(thrown);
  }

  reply(status: number, body: JsonValue, headers: Readonly<Record<string, string>> = {}): void {
    this.#send(status, JSON.stringify(body), headers);
  }

  /** Answers with an error in the words of a dialect, if there is still somebody to answer and a status to give. */
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
    // OpenAI's clients look for the one, Anthropic's for the other.
    return { "x-request-id": this.id, "request-id": this.id, "x-content-type-options": "nosniff" };
  }
}

/** The client's own, if it can stand in a header and a log as it is. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID();
}

const CLIENT_GONE = new ExcursorError("canceled", "The client went away.", { code: "client_gone" });
