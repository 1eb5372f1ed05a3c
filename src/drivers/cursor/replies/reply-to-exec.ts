import { create, toBinary } from "@bufbuild/protobuf";
import type { JsonObject, ToolMessage } from "../../../core/turn.ts";
import { ExecClientMessageSchema, type ExecServerMessage } from "../../../gen/agent/v1/exec_pb.ts";
import {
  RequestContextResult_SuccessSchema,
  RequestContextResultSchema,
} from "../../../gen/agent/v1/request_context_pb.ts";
import { AgentClientMessageSchema } from "../../../gen/agent/v1/run_pb.ts";
import { bytesField, encodeFields, messageField, serialized } from "../../../wire/agent/encode-fields.ts";
import { argsOf } from "../../../wire/agent/exec/mcp-call.ts";
import { mcpResultOf } from "../../../wire/agent/exec/mcp-result.ts";
import type { ClientMessage } from "../../../wire/agent/messages.ts";
import type { Offer } from "../request/offer.ts";
import type { Outgoing } from "../run/stream.ts";
import { mapExec } from "./native/map-exec.ts";
import { rejectExec } from "./reject-exec.ts";

/** The outcome of an exec request: an immediate reply, or a call of a client's tool. */
export type ExecOutcome =
  | { readonly type: "reply"; readonly messages: readonly Outgoing[] }
  | { readonly type: "call"; readonly call: ClientCall };

export interface ClientCall {
  /** The id of the exec request on this stream. */
  readonly execId: number;
  /** The backend's id of the call. An edit, for example, makes two requests under one id. */
  readonly toolCallId: string;
  readonly name: string;
  readonly args: JsonObject;
  /** It stands for a request of the backend's own, such as a read or a shell command. */
  readonly isNative?: true;
  /** Encodes the tool's result as the reply to the exec request. */
  reply(result: ToolMessage): readonly ClientMessage[];
}

/**
 * Decides the outcome of an exec request. Nothing is executed here. The request context is sent. MCP calls and native
 * requests become calls of a client's tool if one fits; the rest is rejected.
 */
export function replyToExec(exec: ExecServerMessage, offer: Offer): ExecOutcome {
  const { id, message } = exec;
  const result = (value: ExecResult): ClientMessage => ({
    case: "execClientMessage",
    value: { id, message: value },
  });
  const replied = (...messages: Outgoing[]): ExecOutcome => ({
    type: "reply",
    messages: [...messages, closeOf(id)],
  });
  if (message.case === "requestContextArgs") return replied(contextResult(exec, offer));
  if (message.case === "mcpArgs") {
    const name = offer.nameOf(message.value);
    if (name === undefined) {
      const missing = { name: message.value.toolName || message.value.name, availableTools: [...offer.names] };
      return replied(result({ case: "mcpResult", value: { result: { case: "toolNotFound", value: missing } } }));
    }
    const reply = (given: ToolMessage) => [result({ case: "mcpResult", value: mcpResultOf(given) }), closeOf(id)];
    const { toolCallId } = message.value;
    return {
      type: "call",
      call: { execId: id, toolCallId: toolCallId || nameOf(id), name, args: argsOf(message.value), reply },
    };
  }
  const native = mapExec(exec, offer.tools);
  if (native) {
    const { callId, name, args } = native;
    const reply = (given: ToolMessage): ClientMessage[] => [
      ...native.reply(given).map((value): ClientMessage => ({ case: "execClientMessage", value })),
      closeOf(id),
    ];
    return { type: "call", call: { execId: id, toolCallId: callId || nameOf(id), name, args, isNative: true, reply } };
  }
  const rejection = rejectExec(exec, offer.names);
  if (rejection.type === "throw") {
    const value = { message: { case: "throw" as const, value: { id, error: rejection.error } } };
    return replied({ case: "execClientControlMessage", value });
  }
  return replied(...rejection.messages.map((value): ClientMessage => ({ case: "execClientMessage", value })));
}

type ExecResult = NonNullable<Extract<ClientMessage, { case: "execClientMessage" }>["value"]["message"]>;

/** Encoded by hand, since the large part is already serialized. */
function contextResult({ id }: ExecServerMessage, { context }: Offer): Uint8Array {
  const success = bytesField(RequestContextResult_SuccessSchema.field.requestContext, context);
  const result = messageField(RequestContextResultSchema.field.success, success);
  return encodeFields(
    messageField(
      AgentClientMessageSchema.field.execClientMessage,
      serialized(toBinary(ExecClientMessageSchema, create(ExecClientMessageSchema, { id }))),
      messageField(ExecClientMessageSchema.field.requestContextResult, result),
    ),
  );
}

const closeOf = (id: number): ClientMessage => ({
  case: "execClientControlMessage",
  value: { message: { case: "streamClose", value: { id } } },
});

const nameOf = (id: number): string => `exec-${id}`;
