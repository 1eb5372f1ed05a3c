import { ExcursorError } from "../../core/errors.ts";
import { encodeAppend } from "../agent/bidi-append.ts";
import type { HttpTransport } from "../http/http.ts";
import { callHttp, type HttpResponse } from "../http/http-call.ts";
import { fromFailedResponse } from "../http/http-errors.ts";
import type { WireLimits } from "../limits.ts";

export interface AppendOptions {
  readonly transport: HttpTransport;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Returns new headers after a 401, with a renewed token; undefined if there are none. */
  readonly renewHeaders?: (() => Promise<Readonly<Record<string, string>> | undefined>) | undefined;
  readonly requestId: string;
  readonly limits: WireLimits;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
  readonly bytesPerSecond: number;
  readonly onDrain: () => void;
  /** Called once, for the first append that fails. The others are aborted. */
  readonly onFail: (error: ExcursorError) => void;
}

/**
 * The sending half of a run over HTTP/1.1: each message is a call of its own, numbered from zero. Several run at once,
 * started in order. The backend sorts them by their number.
 */
export class AppendQueue {
  readonly #options: AppendOptions;
  readonly #waiting: Uint8Array[] = [];
  readonly #stopping = new AbortController();
  #headers: Readonly<Record<string, string>>;
  #renewing: Promise<Readonly<Record<string, string>> | undefined> | undefined;
  #next = 0n;
  #inFlight = 0;
  #needsDrain = false;

  constructor(options: AppendOptions) {
    this.#options = options;
    this.#headers = options.headers;
  }

  /** Returns false if the maximum number of appends is in progress, so that this one waits. */
  push(payload: Uint8Array): boolean {
    if (this.#stopping.signal.aborted) return true;
    const { requestId } = this.#options;
    this.#waiting.push(encodeAppend({ requestId, seqno: this.#next++, payload }));
    this.#startNext();
    this.#needsDrain = this.#inFlight >= this.#options.maxInFlight;
    return !this.#needsDrain;
  }

  /** Aborts everything without a callback. */
  stop(): void {
    this.#waiting.length = 0;
    this.#stopping.abort();
  }

  #startNext(): void {
    while (this.#inFlight < this.#options.maxInFlight) {
      const body = this.#waiting.shift();
      if (!body) break;
      this.#inFlight++;
      this.#append(body).then(
        () => this.#landed(),
        (error) => this.#failed(error),
      );
    }
  }

  /** Retries once after a 401: a run may outlive its token, and a refused append was not processed. */
  async #append(body: Uint8Array): Promise<void> {
    const refused = this.#headers;
    let answer = await this.#call(body);
    if (answer.head.status === 401 && (await this.#renew(refused))) answer = await this.#call(body);
    if (answer.head.status !== 200) throw fromFailedResponse(answer.head, answer.body);
  }

  /** Returns whether there are new headers. Appends that are refused together renew once. */
  async #renew(refused: Readonly<Record<string, string>>): Promise<boolean> {
    if (this.#headers === refused) {
      this.#renewing ??= this.#options.renewHeaders?.().finally(() => {
        this.#renewing = undefined;
      });
      this.#headers = (await this.#renewing) ?? this.#headers;
    }
    return this.#headers !== refused;
  }

  #call(body: Uint8Array): Promise<HttpResponse> {
    const { transport, origin, path, limits, timeoutMs, bytesPerSecond } = this.#options;
    return callHttp({
      transport,
      request: { origin, path, headers: this.#headers },
      body,
      limits,
      timeoutMs: timeoutMs + (body.length / bytesPerSecond) * 1000,
      signal: this.#stopping.signal,
    });
  }

  #landed(): void {
    this.#inFlight--;
    this.#startNext();
    if (!this.#needsDrain || this.#inFlight >= this.#options.maxInFlight) return;
    this.#needsDrain = false;
    this.#options.onDrain();
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.stop();
    this.#options.onFail(ExcursorError.from(error));
  }
}
