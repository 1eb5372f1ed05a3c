import { create, toBinary } from "@bufbuild/protobuf";
import type { UserMessage } from "../../core/turn.ts";
import { ConversationActionSchema, ResumeActionSchema, UserMessageActionSchema } from "../../gen/agent/v1/action_pb.ts";
import { ModelDetailsSchema, RequestedModelSchema } from "../../gen/agent/v1/model_pb.ts";
import { AgentClientMessageSchema, AgentRunRequestSchema } from "../../gen/agent/v1/run_pb.ts";
import { bytesField, joinFields, numberField, textField } from "./encode-fields.ts";
import type { ModelEncoding } from "./models/model.ts";
import type { Offer } from "./offer.ts";
import { encodeUserMessage } from "./user-message.ts";

/** What a run does: answer a message, or go on where a state stands. */
export type RunAction = { readonly type: "user"; readonly message: UserMessage } | { readonly type: "resume" };

export interface RunRequestParts {
  /** A serialized `ConversationStateStructure`. */
  readonly state: Uint8Array;
  readonly action: RunAction;
  readonly conversationId: string;
  readonly runId: string;
  readonly model: ModelEncoding;
  readonly offer: Offer;
}

/** The first message of a run, serialized. Tools and context go everywhere the backend is known to look for them. */
export function encodeRunRequest({ state, action, conversationId, runId, model, offer }: RunRequestParts): Uint8Array {
  const { field } = AgentRunRequestSchema;
  return bytesField(
    AgentClientMessageSchema.field.runRequest,
    joinFields(
      bytesField(field.conversationState, state),
      bytesField(field.action, encodeAction(action, offer)),
      // Both: with one of them alone some models answer nothing.
      bytesField(field.modelDetails, encodeDetails(model)),
      bytesField(field.requestedModel, encodeRequested(model)),
      bytesField(field.mcpTools, offer.mcpTools),
      textField(field.conversationId, conversationId),
      textField(field.runId, runId),
    ),
  );
}

function encodeDetails({ modelId, displayModelId, displayName, maxMode }: ModelEncoding): Uint8Array {
  const { field } = ModelDetailsSchema;
  return joinFields(
    textField(field.modelId, modelId),
    textField(field.displayModelId, displayModelId),
    textField(field.displayName, displayName),
    ...(maxMode ? [numberField(field.maxMode, 1)] : []),
  );
}

function encodeRequested({ modelId, maxMode, parameters }: ModelEncoding): Uint8Array {
  const requested = { modelId, maxMode, parameters: parameters.map(({ id, value }) => ({ id, value })) };
  return toBinary(RequestedModelSchema, create(RequestedModelSchema, requested));
}

function encodeAction(action: RunAction, { context }: Offer): Uint8Array {
  const { userMessageAction, resumeAction } = ConversationActionSchema.field;
  if (action.type === "resume") {
    return bytesField(resumeAction, bytesField(ResumeActionSchema.field.requestContext, context));
  }
  const { userMessage, requestContext } = UserMessageActionSchema.field;
  const message = encodeUserMessage(action.message);
  return bytesField(
    userMessageAction,
    joinFields(bytesField(userMessage, message), bytesField(requestContext, context)),
  );
}
