import { newSpanId, type TraceContext, toolTrace } from "../core/http/trace-context.ts";
import type { RequestRecord, ToolCallRecord, TurnContent } from "../usage/record/records.ts";
import { contentAttributes } from "./content.ts";
import { NAMES, OPERATIONS } from "./names.ts";
import { type AttributeValue, type OtlpSpan, SPAN_KIND, writeAttributes, writeTime } from "./otlp.ts";

/** The trace of a request: `context` has the span of its model call, `parentId` the client's own span. */
export interface RequestTrace {
  readonly context: TraceContext;
  readonly parentId: string | undefined;
}

/**
 * The spans of a request: one for the request, and below it one for the model call, if there was a turn. They hold names,
 * figures and times. Only the model call has content, and only if it is given.
 */
export function requestSpans(
  record: RequestRecord,
  { context, parentId }: RequestTrace,
  content?: TurnContent,
): readonly OtlpSpan[] {
  const { startedAt, durationMs, phases, route, status, errorCode, modelAsked } = record;
  const endMs = startedAt + durationMs;
  const serverId = newSpanId();
  const beforeMs = (phases.gate ?? 0) + (phases.parse ?? 0);
  const error = errorCode ?? (status >= 500 ? String(status) : undefined);
  const server = span(context, {
    spanId: modelAsked === undefined ? context.spanId : serverId,
    parentId,
    name: route,
    kind: SPAN_KIND.server,
    startMs: startedAt,
    endMs,
    // A wrong request is the client's failure, not this server's.
    error: status >= 500 ? error : undefined,
    attributes: {
      [NAMES.httpRoute]: route,
      [NAMES.httpStatus]: { int: status },
      [NAMES.errorType]: status >= 400 ? (errorCode ?? String(status)) : undefined,
      [NAMES.requestId]: record.id,
      [NAMES.client]: record.client,
      [NAMES.keyName]: record.keyName,
      [NAMES.face]: record.face,
    },
  });
  if (modelAsked === undefined) return [server];
  const model = span(context, {
    spanId: context.spanId,
    parentId: serverId,
    name: `${OPERATIONS.chat} ${modelAsked}`,
    kind: SPAN_KIND.client,
    startMs: Math.min(startedAt + beforeMs, endMs),
    endMs,
    error,
    attributes: { ...modelAttributes(record), ...(content && contentAttributes(content)) },
  });
  return [server, model];
}

function modelAttributes(record: RequestRecord): Record<string, AttributeValue> {
  const { usage, cost, run, firstTokenMs, phases } = record;
  // A correction of an earlier estimate may be negative, which no reader expects of a count.
  const count = (tokens: number | undefined) => (tokens === undefined ? undefined : { int: Math.max(0, tokens) });
  return {
    [NAMES.operation]: OPERATIONS.chat,
    [NAMES.provider]: record.driver,
    [NAMES.requestModel]: record.modelAsked,
    [NAMES.responseModel]: record.modelServed,
    [NAMES.conversation]: record.conversation,
    [NAMES.firstChunk]: firstTokenMs === undefined ? undefined : firstTokenMs / 1000,
    [NAMES.inputTokens]: count(usage?.inputTokens),
    [NAMES.outputTokens]: count(usage?.outputTokens),
    [NAMES.cachedTokens]: count(usage?.cachedTokens),
    [NAMES.cacheWrittenTokens]: count(usage?.cacheWrittenTokens),
    [NAMES.reasoningTokens]: count(usage?.reasoningTokens),
    [NAMES.usageOrigin]: record.usageOrigin,
    [NAMES.run]: run?.type,
    [NAMES.replayReason]: run?.type === "replayed" ? run.reason : undefined,
    [NAMES.costDollars]: cost && cost.micros / 1_000_000,
    [NAMES.costIsEstimate]: cost?.isEstimate,
    [NAMES.errorType]: record.errorCode,
    ...Object.fromEntries(Object.entries(phases).map(([name, ms]) => [NAMES.phasePrefix + name, ms])),
  };
}

/** The span of a tool call, below the model call that asked for it. */
export function toolSpan(record: ToolCallRecord, context: TraceContext): OtlpSpan {
  const { callId, tool, ranBy, server, outcome, bytes, askedAt, answeredAt } = record;
  return span(context, {
    spanId: toolTrace(context, callId).spanId,
    parentId: context.spanId,
    name: `${OPERATIONS.tool} ${tool}`,
    kind: SPAN_KIND.internal,
    startMs: askedAt,
    endMs: Math.max(askedAt, answeredAt ?? askedAt),
    error: outcome === "answered" ? undefined : outcome,
    attributes: {
      [NAMES.operation]: OPERATIONS.tool,
      [NAMES.toolName]: tool,
      [NAMES.toolCallId]: callId,
      [NAMES.toolType]: "function",
      [NAMES.toolRanBy]: ranBy,
      [NAMES.toolServer]: server,
      [NAMES.toolOutcome]: outcome,
      [NAMES.toolBytes]: bytes === undefined ? undefined : { int: bytes },
      [NAMES.errorType]: outcome === "answered" ? undefined : outcome,
    },
  });
}

interface SpanFacts {
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: OtlpSpan["kind"];
  readonly startMs: number;
  readonly endMs: number;
  /** Marks the span as failed. */
  readonly error: string | undefined;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

const MAX_NAME_LENGTH = 128;

const span = ({ traceId, state }: TraceContext, facts: SpanFacts): OtlpSpan => ({
  traceId,
  spanId: facts.spanId,
  ...(facts.parentId !== undefined && { parentSpanId: facts.parentId }),
  ...(state !== undefined && { traceState: state }),
  name: facts.name.slice(0, MAX_NAME_LENGTH),
  kind: facts.kind,
  startTimeUnixNano: writeTime(facts.startMs),
  endTimeUnixNano: writeTime(facts.endMs),
  attributes: writeAttributes(facts.attributes),
  status: facts.error === undefined ? {} : { code: 2, message: facts.error },
});
