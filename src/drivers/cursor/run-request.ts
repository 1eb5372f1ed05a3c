import { type as osType, release } from "node:os";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { UserMessage } from "../../core/turn.ts";
import { ConversationActionSchema } from "../../gen/agent/v1/action_pb.ts";
import type { ConversationStateStructure } from "../../gen/agent/v1/conversation_pb.ts";
import type { McpToolDefinition } from "../../gen/agent/v1/mcp_pb.ts";
import { type RequestContext, RequestContextSchema } from "../../gen/agent/v1/request_context_pb.ts";
import { type AgentRunRequest, AgentRunRequestSchema } from "../../gen/agent/v1/run_pb.ts";
import type { ModelEncoding } from "./models/model.ts";
import { TIME_ZONE } from "./time-zone.ts";
import { wireUserMessage } from "./user-message.ts";

const OS_VERSION = `${osType().toLowerCase()} ${release()}`;

/** What a run does: answer a message, or go on where a state stands. */
export type RunAction = { readonly type: "user"; readonly message: UserMessage } | { readonly type: "resume" };

export interface RunRequestParts {
  readonly state: ConversationStateStructure;
  readonly action: RunAction;
  readonly conversationId: string;
  readonly runId: string;
  readonly model: ModelEncoding;
  readonly context: RequestContext;
}

/** The first message of a run. Tools and context go everywhere the backend is known to look for them. */
export function runRequest({ state, action, conversationId, runId, model, context }: RunRequestParts): AgentRunRequest {
  return create(AgentRunRequestSchema, {
    conversationState: state,
    action: create(ConversationActionSchema, wireAction(action, context)),
    conversationId,
    runId,
    // Both: with one of them alone some models answer nothing.
    modelDetails: {
      modelId: model.modelId,
      displayModelId: model.displayModelId,
      displayName: model.displayName,
      ...(model.maxMode ? { maxMode: true } : {}),
    },
    requestedModel: {
      modelId: model.modelId,
      maxMode: model.maxMode,
      parameters: model.parameters.map(({ id, value }) => ({ id, value })),
    },
    mcpTools: { mcpTools: context.tools },
  });
}

function wireAction(
  action: RunAction,
  requestContext: RequestContext,
): MessageInitShape<typeof ConversationActionSchema> {
  if (action.type === "resume") return { action: { case: "resumeAction", value: { requestContext } } };
  const userMessage = wireUserMessage(action.message);
  return { action: { case: "userMessageAction", value: { userMessage, requestContext } } };
}

/** Where the client's instructions and tools reach the model. Of this machine it says no more than a model needs. */
export function requestContext(system: string, tools: readonly McpToolDefinition[]): RequestContext {
  return create(RequestContextSchema, {
    ...(system === "" ? {} : { cloudRule: system }),
    tools: [...tools],
    env: { osVersion: OS_VERSION, shell: "bash", timeZone: TIME_ZONE },
    rulesInfoComplete: true,
    envInfoComplete: true,
    mcpInfoComplete: true,
  });
}
