import type { RequestRecord, ToolCallRecord, UsageSink } from "../usage/record/records.ts";
import type { GaugeSources, ServerStats } from "./gauge-sources.ts";

/** What `/metrics` shows. */
export interface MetricsPage {
  readonly contentType: string;
  /** Renders the page in Prometheus' text format. */
  render(): Promise<string>;
  /** Adds a listener whose load is part of the gauges. The function given back removes it. */
  addServer(stats: () => ServerStats): () => void;
}

/** Records that wait for the client library. */
const MAX_WAITING = 256;

/**
 * The metrics of one gateway. The client library is loaded with the first scrape, or when so many records wait that they
 * would take memory: a gateway that nobody watches starts faster without it. No record is lost.
 */
export class Metrics implements UsageSink, MetricsPage {
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #sources: GaugeSources;
  readonly #servers = new Set<() => ServerStats>();
  #waiting: ((sink: UsageSink) => void)[] = [];
  #loaded: Promise<Loaded> | undefined;
  #sink: UsageSink | undefined;

  constructor(sources: GaugeSources) {
    this.#sources = sources;
  }

  request(record: RequestRecord): void {
    if (this.#sink) this.#sink.request(record);
    else this.#keep((sink) => sink.request(record));
  }

  toolCall(record: ToolCallRecord): void {
    if (this.#sink) this.#sink.toolCall(record);
    else this.#keep((sink) => sink.toolCall(record));
  }

  corrected(record: RequestRecord, before: RequestRecord): void {
    if (this.#sink) this.#sink.corrected?.(record, before);
    else this.#keep((sink) => sink.corrected?.(record, before));
  }

  addServer(stats: () => ServerStats): () => void {
    this.#servers.add(stats);
    return () => this.#servers.delete(stats);
  }

  async render(): Promise<string> {
    const { text } = await this.#load();
    return text();
  }

  #keep(count: (sink: UsageSink) => void): void {
    this.#waiting.push(count);
    // If the package cannot be loaded, the next scrape reports it.
    if (this.#waiting.length > MAX_WAITING) void this.#load().catch(() => this.#waiting.shift());
  }

  #load(): Promise<Loaded> {
    this.#loaded ??= this.#open();
    return this.#loaded;
  }

  async #open(): Promise<Loaded> {
    const { Registry } = await import("prom-client");
    const { createRequestMetrics } = await import("./request-metrics.ts");
    const { addGauges } = await import("./gauges.ts");
    const register = new Registry();
    const sink = createRequestMetrics(register);
    addGauges(register, this.#sources, () => Array.from(this.#servers, (stats) => stats()));
    this.#sink = sink;
    for (const count of this.#waiting) count(sink);
    this.#waiting = [];
    return { text: () => register.metrics() };
  }
}

interface Loaded {
  readonly text: () => Promise<string>;
}
