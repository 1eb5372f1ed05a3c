import { CANCELED, ExcursorError } from "../../core/errors.ts";
import { BodyCollector } from "../connect/body.ts";
import { encodingError, gunzip } from "../connect/gzip.ts";
import type { WireLimits } from "../limits.ts";
import type { HttpRequest, HttpTransport, ResponseHead } from "./http.ts";

export interface HttpCallOptions {
  readonly transport: HttpTransport;
  readonly request: HttpRequest;
  readonly body?: Uint8Array | undefined;
  readonly limits: WireLimits;
  /** Default: `limits.unaryTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpResponse {
  readonly head: ResponseHead;
  /** Decompressed. May be cut off for a status other than 200. */
  readonly body: Buffer;
}

/** Sends one request and reads the whole response. Rejects only with ExcursorErrors. */
export async function callHttp(options: HttpCallOptions): Promise<HttpResponse> {
  const { head, body } = await exchange(options);
  const encoding = head.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (body.length === 0 || encoding === "identity") return { head, body };
  if (encoding !== "gzip") throw encodingError(encoding);
  return { head, body: await gunzip(body, options.limits.maxInflatedBytes) };
}

function exchange(options: HttpCallOptions): Promise<HttpResponse> {
  const { transport, body, limits, timeoutMs, signal } = options;
  const length = body && { "content-length": String(body.length) };
  const request = { ...options.request, headers: { ...options.request.headers, ...length } };
  return new Promise((resolve, reject) => {
    let head: ResponseHead | undefined;
    let collector = new BodyCollector(0);

    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      act();
    };
    const giveUp = (error: ExcursorError): void => {
      http.abort();
      settle(() => reject(error));
    };
    const cancel = (): void => giveUp(CANCELED);

    const http = transport.open(request, {
      head(received) {
        head = received;
        collector = new BodyCollector(received.status === 200 ? limits.maxBodyBytes : limits.maxErrorBodyBytes);
      },
      data(chunk) {
        if (collector.push(chunk)) return;
        if (head?.status === 200) giveUp(tooLarge(limits.maxBodyBytes));
        else this.end();
      },
      end() {
        const answer = head && { head, body: collector.bytes() };
        http.abort();
        settle(() => (answer ? resolve(answer) : reject(noAnswer())));
      },
      fail: (error) => settle(() => reject(error)),
    });
    const timer = setTimeout(() => giveUp(timedOut()), timeoutMs ?? limits.unaryTimeoutMs).unref();
    if (signal?.aborted) process.nextTick(cancel);
    else signal?.addEventListener("abort", cancel, { once: true });
    if (body && body.length > 0) http.write(body);
    http.end();
  });
}

function timedOut(): ExcursorError {
  return new ExcursorError("call_timeout");
}

function tooLarge(limit: number): ExcursorError {
  return new ExcursorError("body_too_large", "The backend's answer is larger than allowed.", {
    kind: "upstream-protocol",
    context: { limit },
  });
}

function noAnswer(): ExcursorError {
  return new ExcursorError("no_answer");
}
