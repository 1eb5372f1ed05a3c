import type { Secret } from "../core/secret.ts";
import { NAMES_VERSION } from "./names.ts";
import { type OtlpAttribute, type OtlpSpan, writeRequest } from "./otlp.ts";

export interface ExporterOptions {
  /** Where spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly resource: readonly OtlpAttribute[];
  /** Told once when the collector fails, and once when it takes spans again. */
  readonly onTrouble: (text: string) => void;
  readonly limits?: Partial<ExportLimits>;
}

interface ExportLimits {
  /** Spans that wait; more are dropped. */
  readonly queue: number;
  /** Characters of the spans that wait. */
  readonly queueLength: number;
  /** Spans in one request. */
  readonly batch: number;
  /** Characters of the spans in one request, unless a single span has more. */
  readonly batchLength: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

const LIMITS: ExportLimits = {
  queue: 2048,
  queueLength: 16 * 1024 * 1024,
  batch: 512,
  batchLength: 2 * 1024 * 1024,
  intervalMs: 5000,
  timeoutMs: 10_000,
};

/** What a collector may have said, of which only the number of rejected spans matters. */
const MAX_ANSWER_LENGTH = 64 * 1024;

/** The time that the last spans get when the gateway stops. */
const LAST_FLUSH_MS = 2000;

/** The statuses after which OTLP wants a request to be sent again. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const SCOPE = { name: "excursor", version: NAMES_VERSION };

export interface ExportStats {
  readonly exported: number;
  readonly dropped: number;
}

/**
 * Sends spans to an OpenTelemetry collector, in batches, one request at a time. Never throws and never waits: what does
 * not fit into the queue is dropped and counted.
 */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #limits: ExportLimits;
  #queue: OtlpSpan[] = [];
  #queueLength = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #exported = 0;
  #dropped = 0;
  #isAway = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  stats(): ExportStats {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  add(spans: readonly OtlpSpan[]): void {
    const room = this.#roomFor(spans);
    this.#queue.push(...spans.slice(0, room));
    this.#queueLength += lengthOf(spans.slice(0, room));
    this.#dropped += spans.length - room;
    // A collector that is away is tried at the interval only.
    const { batch, batchLength } = this.#limits;
    const isFull = this.#queue.length >= batch || this.#queueLength >= batchLength;
    if (isFull && !this.#isAway) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), this.#limits.intervalMs).unref();
  }

  /** Sends what waits, one batch after the other, until nothing is left or the collector fails. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0 && !this.#closing.signal.aborted) this.add([]);
    });
    return this.#sending;
  }

  /** Sends the last spans, within a short time. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), LAST_FLUSH_MS);
    await this.#sending;
    await this.flush();
    this.#closing.abort();
    clearTimeout(timer);
    clearTimeout(this.#timer);
    this.#dropped += this.#queue.length;
    this.#queue = [];
    this.#queueLength = 0;
  }

  /** Returns how many of these spans fit into the queue. */
  #roomFor(spans: readonly OtlpSpan[]): number {
    const { queue, queueLength } = this.#limits;
    return countWithin(spans, queue - this.#queue.length, queueLength - this.#queueLength);
  }

  async #sendAll(): Promise<void> {
    let isSent = true;
    while (isSent && this.#queue.length > 0) isSent = await this.#send();
  }

  /** Returns false if the collector did not take the batch. */
  async #send(): Promise<boolean> {
    const { batch: most, batchLength } = this.#limits;
    const batch = this.#queue.splice(0, Math.max(1, countWithin(this.#queue, most, batchLength)));
    this.#queueLength -= lengthOf(batch);
    const outcome = await this.#post(batch);
    if (outcome.type === "sent") {
      this.#exported += batch.length - outcome.rejected;
      this.#dropped += outcome.rejected;
      if (this.#isAway)
        this.#options.onTrouble(`The trace collector takes spans again; ${this.#dropped} were dropped.`);
      this.#isAway = false;
      return true;
    }
    if (outcome.isRetryable) {
      const room = this.#roomFor(batch);
      this.#queue.unshift(...batch.slice(0, room));
      this.#queueLength += lengthOf(batch.slice(0, room));
      this.#dropped += batch.length - room;
    } else this.#dropped += batch.length;
    if (!this.#isAway) this.#options.onTrouble(`The trace collector does not take spans: ${outcome.reason}.`);
    this.#isAway = true;
    return false;
  }

  async #post(batch: readonly OtlpSpan[]): Promise<Outcome> {
    const { url, headers, resource } = this.#options;
    const timeout = AbortSignal.timeout(this.#limits.timeoutMs);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...reveal(headers), "content-type": "application/json" },
        body: writeRequest(resource, SCOPE, batch),
        // The headers may hold a key, which must go nowhere else.
        redirect: "error",
        signal: AbortSignal.any([timeout, this.#closing.signal]),
      });
      if (response.ok) return { type: "sent", rejected: Math.min(batch.length, await rejectedOf(response)) };
      await response.body?.cancel();
      const { status } = response;
      return { type: "failed", isRetryable: RETRYABLE.has(status), reason: `it answers ${status}` };
    } catch {
      return { type: "failed", isRetryable: true, reason: "it cannot be reached, or does not answer" };
    }
  }
}

/** What a span takes beside its texts. */
const SPAN_LENGTH = 512;

const lengthOf = (spans: readonly OtlpSpan[]): number =>
  spans.reduce(
    (sum, { attributes }) =>
      attributes.reduce((all, { value }) => all + ("stringValue" in value ? value.stringValue.length : 0), sum) +
      SPAN_LENGTH,
    0,
  );

/** Returns how many of the first spans are within a number and a length. */
function countWithin(spans: readonly OtlpSpan[], most: number, length: number): number {
  let left = length;
  const end = spans.findIndex((span, index) => {
    left -= lengthOf([span]);
    return index >= most || left < 0;
  });
  return end < 0 ? spans.length : end;
}

type Outcome =
  | { readonly type: "sent"; readonly rejected: number }
  | { readonly type: "failed"; readonly isRetryable: boolean; readonly reason: string };

const reveal = (headers: Readonly<Record<string, Secret>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));

/** Reads how many spans of an accepted request the collector did not want. */
async function rejectedOf(response: Response): Promise<number> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_ANSWER_LENGTH) return 0;
  }
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: string | number } };
    return Number(partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch {
    return 0;
  }
}
