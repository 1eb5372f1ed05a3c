import type { JsonObject, ToolDefinition, ToolMessage } from "../../core/turn.ts";
import type { McpArgs } from "../../gen/agent/v1/exec_mcp_pb.ts";
import type { ExecServerMessage } from "../../gen/agent/v1/exec_pb.ts";
import type { RequestContext } from "../../gen/agent/v1/request_context_pb.ts";
import { mapExec } from "./native/map-exec.ts";
import { rejectExec } from "./reject-exec.ts";
import type { ClientMessage } from "./stream.ts";
import { argsOf, wireToolName, wireToolResult } from "./tools.ts";

/** What becomes of a request: it is answered here and now, or it is a call that the client has to answer. */
export type ExecOutcome =
  | { readonly type: "answered"; readonly messages: readonly ClientMessage[] }
  | { readonly type: "call"; readonly call: ClientCall };

/** A call of one of the client's tools, and what its result is on the wire. */
export interface ClientCall {
  /** Of the request on this stream. */
  readonly execId: number;
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  reply(result: ToolMessage): readonly ClientMessage[];
}

/**
 * Nothing is carried out here. The context is told; calls of the client's tools, and native requests that one of them can
 * serve, are the client's; all else is turned down.
 */
export function answerExec(
  exec: ExecServerMessage,
  context: RequestContext,
  tools: readonly ToolDefinition[],
): ExecOutcome {
  const { id, execId, message } = exec;
  const result = (value: ExecResult): ClientMessage => ({
    case: "execClientMessage",
    value: { id, execId, message: value },
  });
  const answered = (...messages: ClientMessage[]): ExecOutcome => ({
    type: "answered",
    messages: [...messages, closeOf(id)],
  });
  const offered = context.tools.map(({ toolName }) => toolName);
  if (message.case === "requestContextArgs") {
    const success = { case: "success" as const, value: { requestContext: context } };
    return answered(result({ case: "requestContextResult", value: { result: success } }));
  }
  if (message.case === "mcpArgs") {
    const name = offeredName(message.value, context);
    if (name === undefined) {
      const missing = { name: message.value.toolName || message.value.name, availableTools: offered };
      return answered(result({ case: "mcpResult", value: { result: { case: "toolNotFound", value: missing } } }));
    }
    const reply = (given: ToolMessage) => [result({ case: "mcpResult", value: wireToolResult(given) }), closeOf(id)];
    const { toolCallId } = message.value;
    return {
      type: "call",
      call: { execId: id, id: toolCallId || nameOf(id), name, args: argsOf(message.value), reply },
    };
  }
  const native = mapExec(exec, tools);
  if (native) {
    const { callId, name, args } = native;
    const reply = (given: ToolMessage): ClientMessage[] => [
      ...native.reply(given).map((value): ClientMessage => ({ case: "execClientMessage", value })),
      closeOf(id),
    ];
    return { type: "call", call: { execId: id, id: callId || nameOf(id), name, args, reply } };
  }
  const rejection = rejectExec(exec, offered);
  if (rejection.type === "throw") {
    const value = { message: { case: "throw" as const, value: { id, error: rejection.error } } };
    return answered({ case: "execClientControlMessage", value });
  }
  return answered(...rejection.messages.map((value): ClientMessage => ({ case: "execClientMessage", value })));
}

type ExecResult = NonNullable<Extract<ClientMessage, { case: "execClientMessage" }>["value"]["message"]>;

/** The client's tool that a call means; undefined if it offered none such. */
export function offeredName({ toolName, name }: McpArgs, { tools }: RequestContext): string | undefined {
  const meant = tools.find(
    (tool) => tool.toolName === toolName || (toolName === "" && wireToolName(tool.toolName) === name),
  );
  return meant?.toolName;
}

const closeOf = (id: number): ClientMessage => ({
  case: "execClientControlMessage",
  value: { message: { case: "streamClose", value: { id } } },
});

/** For calls that the backend gave no name. */
const nameOf = (id: number): string => `exec-${id}`;
