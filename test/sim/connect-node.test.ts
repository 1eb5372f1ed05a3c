import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { type AgentClientMessage, AgentClientMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { AgentService } from "../../src/gen/agent/v1/service_pb.ts";
import { ServerConfigService } from "../../src/gen/aiserver/v1/server_config_pb.ts";
import { setUp } from "./support/transports.ts";

/** Connect's own client knows nothing of ours: what it accepts is Connect, not what we take for it. */
describe("an independent Connect client against the backend", () => {
  const transportTo = (baseUrl: string, httpVersion: "1.1" | "2", useBinaryFormat = true) =>
    createConnectTransport({
      baseUrl,
      httpVersion,
      useBinaryFormat,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", "Bearer tester");
          return next(request);
        },
      ],
    });

  it.each([
    ["1.1", true],
    ["1.1", false],
    ["2", true],
    ["2", false],
  ] as const)("makes unary calls over HTTP/%s, binary %s", async (version, isBinary) => {
    const { sim } = await setUp("h2");
    const transport = transportTo(sim.url, version, isBinary);
    const { models } = await createClient(AgentService, transport).getUsableModels({});
    expect(models.some(({ modelId }) => modelId === "default")).toBe(true);
    const config = await createClient(ServerConfigService, transport).getServerConfig({});
    expect(config.http2Config).toBe(4);
  });

  it("runs a turn with a heartbeat and its context, to a proper end", async () => {
    const { sim } = await setUp("h2");
    const client = createClient(AgentService, transportTo(sim.url, "2"));
    const answers: ((message: AgentClientMessage) => void)[] = [];
    const queue: AgentClientMessage[] = [];
    const send = (message: AgentClientMessage) => (answers.shift() ?? ((late) => queue.push(late)))(message);
    let isOver = false;
    async function* requests() {
      yield create(AgentClientMessageSchema, {
        message: {
          case: "runRequest",
          value: {
            action: { action: { case: "userMessageAction", value: { userMessage: { text: "@sim say hello world" } } } },
          },
        },
      });
      while (!isOver)
        yield queue.shift() ?? (await new Promise<AgentClientMessage>((resolve) => answers.push(resolve)));
    }
    let text = "";
    for await (const { message } of client.run(requests())) {
      if (message.case === "interactionUpdate" && message.value.message.case === "textDelta")
        text += message.value.message.value.text;
      if (message.case === "interactionUpdate" && message.value.message.case === "turnEnded") isOver = true;
      if (message.case === "execServerMessage") {
        const value = { id: message.value.id, message: { case: "requestContextResult" as const, value: {} } };
        send(create(AgentClientMessageSchema, { message: { case: "execClientMessage", value } }));
      }
      if (message.case === "kvServerMessage") {
        const value = { id: message.value.id, message: { case: "setBlobResult" as const, value: {} } };
        send(create(AgentClientMessageSchema, { message: { case: "kvClientMessage", value } }));
      }
    }
    send(create(AgentClientMessageSchema, { message: { case: "clientHeartbeat", value: {} } }));
    expect(text).toBe("hello world");
  });

  it("sees errors as Connect errors with their details", async () => {
    const { sim } = await setUp("h2");
    const transport = createConnectTransport({ baseUrl: sim.url, httpVersion: "2" });
    const error = await createClient(AgentService, transport).getUsableModels({}).catch(ConnectError.from);
    expect(error).toBeInstanceOf(ConnectError);
    expect((error as ConnectError).code).toBe(Code.Unauthenticated);
    expect((error as ConnectError).details).toHaveLength(1);
  });
});
