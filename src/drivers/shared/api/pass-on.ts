import { Readable } from "node:stream";
import { ExcursorError } from "../../../core/errors.ts";
import { traceFields } from "../../../core/http/trace-context.ts";
import type { PassedAnswer, PassedRequest } from "../../../core/passed-request.ts";
import { BodyCollector } from "../../../wire/connect/body.ts";
import type { ResponseHead } from "../../../wire/http/http.ts";
import { wireLimits } from "../../../wire/limits.ts";
import { type ApiEndpoint, hopHeaders } from "./api-endpoint.ts";
import { refusedCall } from "./api-error.ts";

/** How long the upstream may send nothing. */
const SILENCE_MS = 300_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Sends a request and passes the answer on as it comes, with back-pressure. Rejects if the upstream refuses it. */
export function passOn(
  endpoint: ApiEndpoint,
  path: string,
  { body, hops, trace }: Pick<PassedRequest, "body" | "hops" | "trace">,
  signal: AbortSignal,
): Promise<PassedAnswer> {
  const { transport, origin, basePath, headers } = endpoint;
  const bytes = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    let refused: { readonly head: ResponseHead; readonly body: BodyCollector } | undefined;
    let received = 0;
    const answer = new Readable({
      read: () => exchange.resume(),
      destroy(error, done) {
        clearTimeout(silence);
        signal.removeEventListener("abort", onAbort);
        exchange.abort();
        done(error);
      },
    });
    const fail = (error: ExcursorError) => {
      reject(error);
      answer.destroy(error);
    };
    const onAbort = () => fail(ExcursorError.from(signal.reason));
    // There may be no listener yet.
    answer.on("error", () => {});
    const exchange = transport.open(
      {
        origin,
        path: basePath + path,
        headers: {
          ...headers,
          ...hopHeaders(endpoint, hops),
          ...traceFields(trace),
          "content-type": "application/json",
          "content-length": String(bytes.length),
        },
        isLongLived: true,
      },
      {
        head(head) {
          silence.refresh();
          if (head.status !== 200) refused = { head, body: new BodyCollector(wireLimits().maxErrorBodyBytes) };
          else resolve({ contentType: head.headers["content-type"] ?? "application/json", body: answer });
        },
        data(chunk) {
          silence.refresh();
          received += chunk.length;
          if (refused) refused.body.push(chunk);
          else if (received > MAX_BYTES) fail(tooLarge());
          else if (!answer.push(chunk)) exchange.pause();
        },
        end() {
          if (refused) fail(refusedCall(refused.head, refused.body.bytes(), endpoint));
          else answer.push(null);
        },
        fail,
      },
    );
    const silence = setTimeout(() => fail(silent()), SILENCE_MS).unref();
    if (signal.aborted) process.nextTick(onAbort);
    else signal.addEventListener("abort", onAbort, { once: true });
    exchange.write(bytes);
    exchange.end();
  });
}

const tooLarge = (): ExcursorError => new ExcursorError("answer_too_long");

const silent = (): ExcursorError => new ExcursorError("quiet_timeout");
