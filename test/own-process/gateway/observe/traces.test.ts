import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startAnthropicServer } from "../../../drivers/support/anthropic-server.ts";
import { startOpenAiServer } from "../../../drivers/support/openai-server.ts";
import { KEY } from "../../../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../../../gateway/support/own-gateway.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN = "b7ad6b7169203331";
/** The client's trace, but a span of the gateway's. */
const PASSED_ON = new RegExp(`^00-${TRACE}-(?!${CLIENT_SPAN})[0-9a-f]{16}-01$`);

/** An MCP server with one tool, which returns the `_meta` of its call. */
const META_SERVER = `
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "meta", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "show", inputSchema: { type: "object" } }] }),
  "tools/call": ({ _meta }) => ({ content: [{ type: "text", text: JSON.stringify(_meta) }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = answers[method]?.(params);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no" } }) }));
});`;

const ask = async (url: string, model: string) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
      traceparent: `00-${TRACE}-${CLIENT_SPAN}-01`,
      tracestate: "vendor=1",
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
  });
  expect(response.status, await response.text()).toBe(200);
};

beforeEach(() => {
  vi.stubEnv("TEST_API_KEY", "a-key");
  // Nobody listens there: spans are dropped, and the answers go on.
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
});

afterEach(() => vi.unstubAllEnvs());

const entry = (driver: string, baseURL: string) => ({
  models: { "up/*": { driver, baseURL, keyVariable: "TEST_API_KEY" } },
});

describe("the client's trace", () => {
  it("goes on at an upstream with OpenAI's API", async () => {
    const server = await startOpenAiServer([{ content: "hello" }]);
    const { url } = await openOwnGateway(entry("openai", `${server.url}/v1`));
    await ask(url, "up/llama-4");
    expect(server.calls[0]?.headers).toMatchObject({
      traceparent: expect.stringMatching(PASSED_ON),
      tracestate: "vendor=1",
    });
  });

  it("goes on at an upstream with Anthropic's API", async () => {
    const server = await startAnthropicServer({ blocks: [{ type: "text", text: "hello" }] });
    const { url } = await openOwnGateway(entry("anthropic", server.url));
    await ask(url, "up/claude-opus-4-8");
    expect(server.calls[0]?.headers["traceparent"]).toMatch(PASSED_ON);
  });

  it("goes on at MCP servers, as a span of the call", async () => {
    const call = { index: 0, id: "call_1", type: "function", function: { name: "meta__show", arguments: "{}" } };
    const server = await startOpenAiServer([{ tool_calls: [call] }], [{ content: "done" }]);
    const gateway = await openOwnGateway({ ...entry("openai", `${server.url}/v1`), tools: "hub" });
    const mcpServers = { meta: { command: process.execPath, args: ["-e", META_SERVER] } };
    writeFileSync(join(gateway.home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
    await gateway.restart();
    await ask(gateway.url, "up/llama-4");
    const [first, second] = server.calls;
    const result = second?.body.messages.at(-1);
    const meta = JSON.parse(result.content);
    expect(meta).toMatchObject({ traceparent: expect.stringMatching(PASSED_ON), tracestate: "vendor=1" });
    expect(meta.traceparent).not.toBe(first?.headers["traceparent"]);
    expect(second?.headers["traceparent"]).toBe(first?.headers["traceparent"]);
  });

  it("goes nowhere without a collector", async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "");
    const server = await startOpenAiServer([{ content: "hello" }]);
    const { url } = await openOwnGateway(entry("openai", `${server.url}/v1`));
    await ask(url, "up/llama-4");
    expect(server.calls[0]?.headers["traceparent"]).toBeUndefined();
  });
});
