import { create, equals, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import type { ToolDefinition } from "../../../../src/core/turn.ts";
import { replyToExec } from "../../../../src/drivers/cursor/replies/reply-to-exec.ts";
import { Offer } from "../../../../src/drivers/cursor/request/offer.ts";
import { encodeRunRequest } from "../../../../src/drivers/cursor/request/run-request.ts";
import { ConversationStateStructureSchema } from "../../../../src/gen/agent/v1/conversation_pb.ts";
import { McpArgsSchema } from "../../../../src/gen/agent/v1/exec_mcp_pb.ts";
import { ExecServerMessageSchema } from "../../../../src/gen/agent/v1/exec_pb.ts";
import { AgentClientMessageSchema } from "../../../../src/gen/agent/v1/run_pb.ts";

const TOOLS: readonly ToolDefinition[] = [
  { name: "files.read", description: "Reads.", schema: { type: "object", properties: { path: { type: "string" } } } },
  { name: "now", description: "", schema: { type: "object", properties: {} } },
];
const MODEL = {
  kind: "parameters" as const,
  modelId: "gpt-5",
  displayModelId: "gpt-5",
  displayName: "GPT-5",
  parameters: [{ id: "effort", value: "high" }],
  maxMode: true,
};
const STATE = create(ConversationStateStructureSchema, { todos: [new Uint8Array([1, 2, 3])] });

function request(action: Parameters<typeof encodeRunRequest>[0]["action"], offer: Offer) {
  const state = toBinary(ConversationStateStructureSchema, STATE);
  const bytes = encodeRunRequest({ state, action, conversationId: "c", runId: "r", model: MODEL, offer });
  const { message } = fromBinary(AgentClientMessageSchema, bytes);
  if (message.case !== "runRequest") throw new Error(`not a run request but ${message.case}`);
  return message.value;
}

describe("the first message of a run", () => {
  it("reads back as what was put together", () => {
    const offer = new Offer("Be brief.", TOOLS);
    const asked = { role: "user" as const, content: [{ type: "text" as const, text: "hello" }] };
    const { action, conversationState, mcpTools, modelDetails, requestedModel, ...rest } = request(
      { type: "user", message: asked },
      offer,
    );
    expect(rest).toMatchObject({ conversationId: "c", runId: "r" });
    expect(rest.$unknown).toBeUndefined();
    expect(conversationState && equals(ConversationStateStructureSchema, conversationState, STATE)).toBe(true);
    expect(modelDetails).toMatchObject({ modelId: "gpt-5", displayName: "GPT-5", maxMode: true });
    expect(requestedModel).toMatchObject({
      modelId: "gpt-5",
      maxMode: true,
      parameters: [{ id: "effort", value: "high" }],
    });
    if (action?.action.case !== "userMessageAction") throw new Error("another action");
    const { userMessage, requestContext } = action.action.value;
    expect(userMessage?.text).toBe("hello");
    expect(requestContext).toMatchObject({ cloudRule: "Be brief.", rulesInfoComplete: true, env: { shell: "bash" } });
    expect(requestContext?.tools).toEqual(mcpTools?.mcpTools);
    expect(mcpTools?.mcpTools.map(({ name, toolName }) => [name, toolName])).toEqual([
      [expect.stringMatching(/^excursor-files_read_x/), expect.stringMatching(/^files_read_x/)],
      ["excursor-now", "now"],
    ]);
    const [schema] = mcpTools?.mcpTools.flatMap(({ inputSchema }) => (inputSchema ? [inputSchema] : [])) ?? [];
    expect(schema && toJson(ValueSchema, schema)).toEqual(TOOLS[0]?.schema);
  });

  it("goes on from a state with the same context", () => {
    const { action } = request({ type: "resume" }, new Offer("", []));
    if (action?.action.case !== "resumeAction") throw new Error("another action");
    expect(action.action.value.requestContext).toMatchObject({ envInfoComplete: true, tools: [] });
    expect(action.action.value.requestContext?.cloudRule).toBeUndefined();
  });

  it("has its context told again when the backend asks", () => {
    const exec = create(ExecServerMessageSchema, {
      id: 7,
      execId: "e7",
      message: { case: "requestContextArgs", value: {} },
    });
    const outcome = replyToExec(exec, new Offer("Be brief.", TOOLS));
    const [answer] = outcome.type === "reply" ? outcome.messages : [];
    if (!(answer instanceof Uint8Array)) throw new Error("it is not serialized");
    const { message } = fromBinary(AgentClientMessageSchema, answer);
    expect(message).toMatchObject({
      case: "execClientMessage",
      value: {
        id: 7,
        message: {
          case: "requestContextResult",
          value: { result: { case: "success", value: { requestContext: { cloudRule: "Be brief." } } } },
        },
      },
    });
  });
});

describe("what is offered", () => {
  it("finds the client's tool by the bare and by the qualified name", () => {
    const offer = new Offer("", TOOLS);
    const [bare = ""] = offer.names;
    const call = (names: { readonly toolName: string; readonly name: string }) =>
      offer.nameOf(create(McpArgsSchema, names));
    expect(call({ toolName: bare, name: "" })).toBe("files.read");
    expect(call({ toolName: "", name: `excursor-${bare}` })).toBe("files.read");
    expect(call({ toolName: "", name: "now" })).toBe("now");
    expect(call({ toolName: "rm", name: "now" })).toBeUndefined();
  });
});
