/** Spans in the JSON form of OTLP (opentelemetry-proto 1, `ExportTraceServiceRequest`). */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** 64-bit integers are decimal texts in this form. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: 2; readonly message?: string };
}

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

type OtlpValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean };

export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;
type SpanKind = (typeof SPAN_KIND)[keyof typeof SPAN_KIND];

/**
 * `int` is for counts: whole numbers of other kinds stay doubles, so that a name always has the same type. `json` is a text
 * that must not be cut, and has a bound of its own.
 */
export type AttributeValue =
  | string
  | boolean
  | number
  | { readonly int: number }
  | { readonly json: string }
  | undefined;

const MAX_LENGTH = 256;

/** Attributes without a value are left out. */
export const writeAttributes = (values: Readonly<Record<string, AttributeValue>>): readonly OtlpAttribute[] =>
  Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: writeValue(value) }]));

function writeValue(value: Exclude<AttributeValue, undefined>): OtlpValue {
  if (typeof value === "string") return { stringValue: value.slice(0, MAX_LENGTH) };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return { doubleValue: value };
  if ("json" in value) return { stringValue: value.json };
  return { intValue: String(Math.round(value.int)) };
}

/** Milliseconds since the epoch as the nanoseconds that OTLP wants. */
export const writeTime = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);

export const writeRequest = (resource: readonly OtlpAttribute[], scope: object, spans: readonly OtlpSpan[]): string =>
  JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }] });
