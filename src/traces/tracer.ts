import { BoundedMap } from "../core/bounded-map.ts";
import {
  newSpanId,
  newTraceId,
  readTraceContext,
  type TraceContext,
  type TracedRequest,
  type TraceSource,
} from "../core/http/trace-context.ts";
import type { RequestRecord, ToolCallRecord, TurnContent, UsageSink } from "../usage/record/records.ts";
import type { Exporter } from "./exporter.ts";
import { type RequestTrace, requestSpans, toolSpan } from "./spans.ts";

/** Traces that are known at a time: of requests under way, and of finished ones whose tool calls may still end. */
const MAX_TRACES = 8192;

interface KnownTrace extends RequestTrace {
  isUsed: boolean;
}

/** Makes spans of the records of requests and tool calls, in the trace that the client's `traceparent` names. */
export class Tracer implements UsageSink, TraceSource {
  readonly #exporter: Pick<Exporter, "add">;
  readonly #traces = new BoundedMap<string, KnownTrace>(MAX_TRACES);

  readonly wantsContent: boolean;

  constructor(exporter: Pick<Exporter, "add">, { wantsContent = false } = {}) {
    this.#exporter = exporter;
    this.wantsContent = wantsContent;
  }

  begin({ requestId, principalId, traceparent, tracestate }: TracedRequest): TraceContext {
    const client = readTraceContext(traceparent, tracestate);
    const trace = newTrace(client);
    this.#traces.set(keyOf(principalId, requestId), trace);
    return trace.context;
  }

  request(record: RequestRecord, content?: TurnContent): void {
    // Whoever has no key must not be able to fill the queue.
    if (record.principalId === "") return;
    const known = this.#traces.get(keyOf(record.principalId, record.id)) ?? newTrace(undefined);
    if (!known.context.isSampled) return;
    // Clients choose ids, and may use one again: the second request is another span of the same trace.
    const context = known.isUsed ? { ...known.context, spanId: newSpanId() } : known.context;
    known.isUsed = true;
    this.#exporter.add(
      requestSpans(record, { context, parentId: known.parentId }, this.wantsContent ? content : undefined),
    );
  }

  toolCall(record: ToolCallRecord): void {
    const known = this.#traces.get(keyOf(record.principalId, record.requestId));
    if (known?.context.isSampled) this.#exporter.add([toolSpan(record, known.context)]);
  }
}

const newTrace = (client: TraceContext | undefined): KnownTrace => ({
  context: {
    traceId: client?.traceId ?? newTraceId(),
    spanId: newSpanId(),
    isSampled: client?.isSampled ?? true,
    state: client?.state,
  },
  parentId: client?.spanId,
  isUsed: false,
});

/** Ids are chosen by clients: one of another key must not lead into this one's trace. */
const keyOf = (principalId: string, requestId: string): string => `${principalId} ${requestId}`;
