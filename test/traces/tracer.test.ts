import { describe, expect, it } from "vitest";
import { traceFields } from "../../src/core/http/trace-context.ts";
import { type OtlpSpan, writeRequest } from "../../src/traces/otlp.ts";
import { Tracer } from "../../src/traces/tracer.ts";
import { requestRecord, toolCallRecord } from "../metrics/support/records.ts";
import { decodeOtlp } from "./support/otlp-decoder.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN = "b7ad6b7169203331";

function setUp() {
  const spans: OtlpSpan[] = [];
  const tracer = new Tracer({ add: (more) => spans.push(...more) });
  const begin = (traceparent?: string, principalId = "owner") =>
    tracer.begin({ requestId: "req-1", principalId, traceparent, tracestate: "vendor=1" });
  const decoded = () => decodeOtlp(writeRequest([], { name: "excursor", version: "1" }, spans)).spans;
  return { tracer, spans, begin, decoded };
}

describe("the spans of a request", () => {
  it("are in the client's trace, below its span", () => {
    const { tracer, begin, decoded } = setUp();
    const context = begin(`00-${TRACE}-${CLIENT_SPAN}-01`);
    tracer.request(requestRecord());
    const [server, model] = decoded();
    expect(server).toMatchObject({ traceId: TRACE, parentSpanId: CLIENT_SPAN, traceState: "vendor=1", kind: 2 });
    expect(model).toMatchObject({ traceId: TRACE, parentSpanId: server?.spanId, kind: 3 });
    // What upstreams are told is the span of the model call.
    expect(traceFields(context)["traceparent"]).toBe(`00-${TRACE}-${model?.spanId}-01`);
  });

  it("follow the conventions", () => {
    const { tracer, begin, decoded } = setUp();
    begin();
    tracer.request(requestRecord({ run: { type: "replayed", reason: "expired" } }));
    const [server, model] = decoded();
    expect(server).toMatchObject({
      name: "/v1/chat/completions",
      startTimeUnixNano: "1790000000000000000",
      endTimeUnixNano: "1790000002400000000",
      status: {},
      attributes: { "http.route": "/v1/chat/completions", "http.response.status_code": 200 },
    });
    expect(server?.parentSpanId).toBeUndefined();
    expect(model).toMatchObject({
      name: "chat some-model",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "cursor",
        "gen_ai.request.model": "some-model",
        "gen_ai.response.model": "some-model",
        "gen_ai.conversation.id": "conv-1",
        "gen_ai.response.time_to_first_chunk": 0.4,
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 101,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.reasoning.output_tokens": 20,
        "excursor.run": "replayed",
        "excursor.replay.reason": "expired",
        "excursor.cost.usd": 0.0025,
        "excursor.phase.open": 100,
      },
    });
  });

  it("are marked as failed by the code of the error; a wrong request is no failure of the server", () => {
    const { tracer, begin, decoded } = setUp();
    begin();
    tracer.request(requestRecord({ status: 502, errorCode: "upstream_error" }));
    tracer.request(requestRecord({ status: 400, errorCode: "invalid_request" }));
    expect(decoded().map(({ status, attributes }) => [status.code, attributes["error.type"]])).toEqual([
      [2, "upstream_error"],
      [2, "upstream_error"],
      [undefined, "invalid_request"],
      [2, "invalid_request"],
    ]);
  });

  it("are only one where there was no turn, and begin a trace where nobody began one", () => {
    const { tracer, decoded } = setUp();
    tracer.request(requestRecord({ route: "/v1/models", modelAsked: undefined }));
    expect(decoded()).toMatchObject([{ name: "/v1/models", kind: 2 }]);
  });

  it("are not written for requests without a valid key", () => {
    const { tracer, spans } = setUp();
    tracer.request(requestRecord({ principalId: "", status: 401, errorCode: "invalid_api_key" }));
    expect(spans).toEqual([]);
  });

  it("are not written if the client does not want them, but the trace is passed on", () => {
    const { tracer, spans, begin } = setUp();
    const context = begin(`00-${TRACE}-${CLIENT_SPAN}-00`);
    tracer.request(requestRecord());
    tracer.toolCall(toolCallRecord());
    expect(spans).toEqual([]);
    expect(traceFields(context)["traceparent"]).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  it("have different ids if the client uses a request id twice", () => {
    const { tracer, begin, decoded } = setUp();
    begin(`00-${TRACE}-${CLIENT_SPAN}-01`);
    tracer.request(requestRecord());
    tracer.request(requestRecord());
    expect(new Set(decoded().map(({ spanId }) => spanId)).size).toBe(4);
  });
});

describe("the span of a tool call", () => {
  it("is below the model call, also after the request has ended", () => {
    const { tracer, begin, decoded } = setUp();
    const { spanId } = begin(`00-${TRACE}-${CLIENT_SPAN}-01`);
    tracer.request(requestRecord());
    tracer.toolCall(toolCallRecord({ outcome: "failed" }));
    expect(decoded().at(-1)).toMatchObject({
      traceId: TRACE,
      parentSpanId: spanId,
      name: "execute_tool files__read",
      kind: 1,
      status: { code: 2, message: "failed" },
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "files__read",
        "gen_ai.tool.call.id": "call-1",
        "excursor.tool.ran_by": "hub",
        "excursor.tool.server": "files",
        "excursor.tool.bytes": 12,
        "error.type": "failed",
      },
    });
  });

  it("is not put into the trace of another key", () => {
    const { tracer, spans, begin } = setUp();
    begin(undefined, "alice");
    tracer.toolCall(toolCallRecord({ principalId: "bob" }));
    expect(spans).toEqual([]);
  });
});
