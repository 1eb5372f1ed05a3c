import { connect as connectHttp2 } from "node:http2";
import { gzipSync } from "node:zlib";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GetChatRequestSchema, StreamChatResponseSchema } from "../../src/gen/aiserver/v1/chat_pb.ts";
import { ClientSideToolV2 } from "../../src/gen/aiserver/v1/client_side_tool_pb.ts";
import { MessageType } from "../../src/gen/aiserver/v1/conversation_pb.ts";
import {
  StreamUnifiedChatRequestSchema,
  StreamUnifiedChatRequestWithToolsSchema,
  StreamUnifiedChatResponseSchema,
  type StreamUnifiedChatResponseWithTools,
  StreamUnifiedChatResponseWithToolsSchema,
} from "../../src/gen/aiserver/v1/unified_chat_pb.ts";
import { callHeaders } from "../../src/wire/agent/headers.ts";
import { BidiRun } from "../../src/wire/connect/bidi-run.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { setUp } from "./support/transports.ts";

const AUTH = { authorization: "Bearer tester", "content-type": "application/connect+proto" };

/** One enveloped request, a stream of frames back. */
async function serverStream<O extends DescMessage>(url: string, path: string, body: Buffer, output: O, version: 1 | 2) {
  const bytes = version === 1 ? await overHttp1(url + path, body) : await overHttp2(url, path, body);
  const messages: MessageShape<O>[] = [];
  let end = "";
  new FrameDecoder({ maxFrameBytes: 1 << 20 }).push(bytes, (flags, payload) => {
    if (flags & FLAG_END) end = Buffer.from(payload).toString();
    else messages.push(fromBinary(output, payload));
  });
  return { messages, end: JSON.parse(end) as { error?: { code: string; details?: { debug: unknown }[] } } };
}

async function overHttp1(url: string, body: Buffer): Promise<Buffer> {
  const response = await fetch(url, { method: "POST", headers: AUTH, body: new Uint8Array(body) });
  return Buffer.from(await response.arrayBuffer());
}

async function overHttp2(url: string, path: string, body: Buffer): Promise<Buffer> {
  const session = connectHttp2(url);
  const stream = session.request({ ":method": "POST", ":path": path, ...AUTH });
  stream.end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  session.close();
  return Buffer.concat(chunks);
}

const chat = (...texts: string[]): MessageInitShape<typeof GetChatRequestSchema> => ({
  conversation: texts.map((text, index) => ({ text, type: index % 2 === 0 ? MessageType.HUMAN : MessageType.AI })),
  explicitContext: { context: "Be brief." },
  modelDetails: { modelName: "gpt-5.5" },
});

describe.each([1, 2] as const)("StreamChat over HTTP/%d", (version) => {
  const ask = async (url: string, request: MessageInitShape<typeof GetChatRequestSchema>, isCompressed = false) => {
    const bytes = toBinary(GetChatRequestSchema, create(GetChatRequestSchema, request));
    const body = isCompressed ? encodeFrame(gzipSync(bytes), FLAG_COMPRESSED) : encodeFrame(bytes);
    return serverStream(url, "/aiserver.v1.AiService/StreamChat", body, StreamChatResponseSchema, version);
  };

  it("works where it is asked to, reading conversation, instructions and model", async () => {
    const { sim } = await setUp("h1", {}, { legacy: "on" });
    const { messages, end } = await ask(
      sim.url,
      chat("hello", "hi", "@sim think hm ;; say {{system}} {{model}} {{history}}"),
    );
    expect(messages.map(({ text }) => text).join("")).toBe("Be brief. gpt-5.5 user: hello\nassistant: hi");
    expect(end).toEqual({});
  });

  it("takes a compressed request", async () => {
    const { sim } = await setUp("h1", {}, { legacy: "on" });
    const { messages } = await ask(sim.url, chat("@sim say squeezed"), true);
    expect(messages.map(({ text }) => text).join("")).toBe("squeezed");
  });

  it("answers that it is deprecated, as the real one does today", async () => {
    const { sim } = await setUp("h1");
    const { messages, end } = await ask(sim.url, chat("hello"));
    expect(messages).toEqual([]);
    expect(end.error?.details?.[0]?.debug).toMatchObject({ error: "ERROR_DEPRECATED" });
  });

  it("fails as scripted", async () => {
    const { sim } = await setUp("h1", {}, { legacy: "on" });
    const { end } = await ask(sim.url, chat("@sim say a ;; fail unavailable ERROR_TIMEOUT"));
    expect(end.error).toMatchObject({ code: "unavailable", details: [{ debug: { error: "ERROR_TIMEOUT" } }] });
  });
});

it("StreamUnifiedChat streams text and thinking without tools", async () => {
  const { sim } = await setUp("h1");
  const request = create(StreamUnifiedChatRequestSchema, {
    conversation: [{ text: "@sim think deep ;; say done", type: MessageType.HUMAN }],
  });
  const body = encodeFrame(toBinary(StreamUnifiedChatRequestSchema, request));
  const path = "/aiserver.v1.ChatService/StreamUnifiedChat";
  const { messages } = await serverStream(sim.url, path, body, StreamUnifiedChatResponseSchema, 1);
  expect(messages.map(({ thinking }) => thinking?.text ?? "").join("")).toBe("deep");
  expect(messages.map(({ text }) => text).join("")).toBe("done");
  expect(messages.some(({ thinking }) => thinking?.isLastThinkingChunk)).toBe(true);
});

describe("StreamUnifiedChatWithTools", () => {
  it("asks for tools and goes on with their results on the same stream", async () => {
    const { sim } = await setUp("h2");
    const pool = createConnectionPool();
    const received: StreamUnifiedChatResponseWithTools["response"][] = [];
    const error = await new Promise<unknown>((resolve) => {
      const send = (request: MessageInitShape<typeof StreamUnifiedChatRequestWithToolsSchema>["request"] & object) =>
        stream.send(
          toBinary(
            StreamUnifiedChatRequestWithToolsSchema,
            create(StreamUnifiedChatRequestWithToolsSchema, { request }),
          ),
        );
      const stream = new BidiRun({
        transport: pool,
        origin: sim.url,
        path: "/aiserver.v1.ChatService/StreamUnifiedChatWithTools",
        headers: callHeaders("run", { token: "tester", requestId: "u1", clientType: "ide", clientVersion: "3.1.0" }),
        listener: {
          message: (payload) => {
            const { response } = fromBinary(StreamUnifiedChatResponseWithToolsSchema, payload);
            received.push(response);
            if (response.case !== "clientSideToolV2Call") return;
            const { toolCallId, name, tool } = response.value;
            const result = { case: "mcpResult" as const, value: { selectedTool: name, result: `${name}!` } };
            send({ case: "clientSideToolV2Result", value: { tool, toolCallId, result } as never });
          },
          done: resolve,
        },
      });
      send({
        case: "streamUnifiedChatRequest",
        value: create(StreamUnifiedChatRequestSchema, {
          conversation: [
            {
              text: '@sim call a {"x":1} ;; call b {} ;; say {{result.0}} {{result.1}} {{reused}}',
              type: MessageType.HUMAN,
            },
          ],
          mcpTools: [{ name: "a", serverName: "s" }, { name: "b" }],
        }),
      });
    });
    pool.destroy();
    expect(error).toBeUndefined();
    expect(received[0]?.case).toBe("streamStart");
    const calls = received.flatMap((response) => (response.case === "clientSideToolV2Call" ? [response.value] : []));
    expect(calls.map(({ name, rawArgs, tool }) => [name, rawArgs, tool])).toEqual([
      ["a", '{"x":1}', ClientSideToolV2.MCP],
      ["b", "{}", ClientSideToolV2.MCP],
    ]);
    const text = received
      .map((response) => (response.case === "streamUnifiedChatResponse" ? response.value.text : ""))
      .join("");
    expect(text).toBe("a! b! stream");
  });

  it("rejects a result for a call that it did not make", async () => {
    const { sim } = await setUp("h2");
    const pool = createConnectionPool();
    const error = await new Promise<unknown>((resolve) => {
      const stream = new BidiRun({
        transport: pool,
        origin: sim.url,
        path: "/aiserver.v1.ChatService/StreamUnifiedChatWithTools",
        headers: callHeaders("run", { token: "tester", requestId: "u2" }),
        listener: { message: () => {}, done: resolve },
      });
      const request = { case: "clientSideToolV2Result" as const, value: { toolCallId: "nobody's" } };
      stream.send(
        toBinary(
          StreamUnifiedChatRequestWithToolsSchema,
          create(StreamUnifiedChatRequestWithToolsSchema, { request: request as never }),
        ),
      );
    });
    pool.destroy();
    expect(error).toMatchObject({
      kind: "invalid-request",
      message: expect.stringContaining("client_side_tool_v2_result.tool_call_id"),
    });
  });
});
