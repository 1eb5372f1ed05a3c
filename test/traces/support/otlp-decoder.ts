import { z } from "zod";

/**
 * The JSON form of OTLP's `ExportTraceServiceRequest` (opentelemetry-proto 1.x, trace/v1), as strict as a collector may be:
 * ids in lower-case hexadecimal and never zero, 64-bit integers as decimal texts, enums as numbers, no unknown field.
 */
const hex = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${digits}}$`))
    .refine((id) => !/^0+$/.test(id), "an id of zeros");

const decimal = z.string().regex(/^\d{1,20}$/);

const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
]);

const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value }))
  .refine((all) => new Set(all.map(({ key }) => key)).size === all.length, "a key that is there twice");

const span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16).optional(),
    traceState: z.string().optional(),
    name: z.string().min(1),
    kind: z.number().int().min(1).max(5),
    startTimeUnixNano: decimal,
    endTimeUnixNano: decimal,
    attributes,
    status: z.strictObject({
      code: z.number().int().min(0).max(2).optional(),
      message: z.string().optional(),
    }),
  })
  .refine((one) => BigInt(one.endTimeUnixNano) >= BigInt(one.startTimeUnixNano), "a span that ends before it begins")
  .refine((one) => one.parentSpanId !== one.spanId, "a span that is its own parent");

const request = z.strictObject({
  resourceSpans: z
    .array(
      z.strictObject({
        resource: z.strictObject({ attributes }),
        scopeSpans: z
          .array(
            z.strictObject({
              scope: z.strictObject({ name: z.string(), version: z.string().optional() }),
              spans: z.array(span).min(1),
            }),
          )
          .min(1),
      }),
    )
    .min(1),
});

export interface DecodedSpan extends Omit<z.infer<typeof span>, "attributes"> {
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

export interface DecodedRequest {
  readonly resource: Readonly<Record<string, string | number | boolean>>;
  readonly spans: readonly DecodedSpan[];
}

/** Throws for whatever is not of the schema. */
export function decodeOtlp(text: string): DecodedRequest {
  const [only, ...more] = request.parse(JSON.parse(text)).resourceSpans;
  if (!only || more.length > 0) throw new Error("expected one resource");
  return {
    resource: plain(only.resource.attributes),
    spans: only.scopeSpans.flatMap(({ spans }) => spans.map((one) => ({ ...one, attributes: plain(one.attributes) }))),
  };
}

const plain = (all: z.infer<typeof attributes>): Record<string, string | number | boolean> =>
  Object.fromEntries(
    all.map(({ key, value: given }) => [
      key,
      "intValue" in given ? Number(given.intValue) : (Object.values(given)[0] ?? ""),
    ]),
  );
