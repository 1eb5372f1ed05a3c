import { describe, expect, it } from "vitest";
import { readTraceContext, toolTrace, traceFields } from "../../../src/core/http/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("traceparent", () => {
  it("is read and written", () => {
    const context = readTraceContext(`00-${TRACE}-${SPAN}-01`, "vendor=1");
    expect(context).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true, state: "vendor=1" });
    expect(traceFields(context)).toEqual({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1" });
    expect(traceFields(readTraceContext(`00-${TRACE}-${SPAN}-02`))).toEqual({ traceparent: `00-${TRACE}-${SPAN}-00` });
    expect(traceFields(undefined)).toEqual({});
  });

  it("of a later version is read as far as it is known", () => {
    expect(readTraceContext(`cc-${TRACE}-${SPAN}-01-what-comes-then`)).toMatchObject({ traceId: TRACE, spanId: SPAN });
  });

  it.each([
    undefined,
    "",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\nevil: 1`,
  ])("%j is none", (header) => {
    expect(readTraceContext(header)).toBeUndefined();
  });

  it("loses a tracestate that cannot stand in a header", () => {
    for (const state of ["a=\n", "a=ä", `a=${"x".repeat(600)}`]) {
      expect(readTraceContext(`00-${TRACE}-${SPAN}-01`, state)?.state).toBeUndefined();
    }
  });

  it("gives each tool call a span id of its own, which is always the same", () => {
    const context = { traceId: TRACE, spanId: SPAN, isSampled: true, state: undefined };
    const { spanId } = toolTrace(context, "call-1");
    expect(spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(toolTrace(context, "call-1").spanId).toBe(spanId);
    expect(toolTrace(context, "call-2").spanId).not.toBe(spanId);
  });
});
