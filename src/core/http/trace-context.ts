import { hash, randomBytes } from "node:crypto";

/** Where a request stands in a distributed trace (W3C Trace Context). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span that the work belongs to, as 16 hexadecimal digits. */
  readonly spanId: string;
  /** False if the client does not want the trace to be recorded. */
  readonly isSampled: boolean;
  /** The `tracestate` that came with the request, to be passed on unchanged. */
  readonly state: string | undefined;
}

/** Begins traces of requests. */
export interface TraceSource {
  /** Returns the context for what the request asks of upstreams. */
  begin(request: TracedRequest): TraceContext;
}

export interface TracedRequest {
  readonly requestId: string;
  readonly principalId: string;
  /** The headers of the client. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ONLY_ZEROS = /^0+$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Reads the client's headers. Undefined if there is no valid `traceparent`. */
export function readTraceContext(traceparent: string | undefined, tracestate?: string): TraceContext | undefined {
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may have more fields; this one has not.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined;
  const state = tracestate !== undefined && TRACESTATE.test(tracestate) ? tracestate : undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1, state };
}

/** Returns the headers, or fields of `_meta` in MCP, that pass a trace on. Empty without a trace. */
export function traceFields(trace: TraceContext | undefined): Readonly<Record<string, string>> {
  if (!trace) return {};
  const { traceId, spanId, isSampled, state } = trace;
  return {
    traceparent: `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`,
    ...(state !== undefined && { tracestate: state }),
  };
}

export const newTraceId = (): string => randomBytes(16).toString("hex");

export const newSpanId = (): string => randomBytes(8).toString("hex");

/** Returns the context of a tool call. Its span id follows from the call's id, so it is known before the span is written. */
export const toolTrace = (trace: TraceContext, callId: string): TraceContext => ({
  ...trace,
  spanId: hash("sha256", `${trace.traceId} ${trace.spanId} ${callId}`, "hex").slice(0, 16),
});
