import type { UserMessage } from "../../../core/turn.ts";
import {
  ConversationActionSchema,
  ResumeActionSchema,
  UserMessageActionSchema,
} from "../../../gen/agent/v1/action_pb.ts";
import {
  ModelDetailsSchema,
  RequestedModel_ParameterSchema,
  RequestedModelSchema,
} from "../../../gen/agent/v1/model_pb.ts";
import { AgentClientMessageSchema, AgentRunRequestSchema } from "../../../gen/agent/v1/run_pb.ts";
import {
  bytesField,
  encodeFields,
  type Field,
  messageField,
  numberField,
  textField,
} from "../../../wire/agent/encode-fields.ts";
import { userMessageFields } from "../../../wire/agent/state/user-message.ts";
import type { ModelEncoding } from "../models/model.ts";
import type { Offer } from "./offer.ts";

/** The action of a run: answer a message, or resume from a state. */
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

/** Encodes the first message of a run. Tools and context are included everywhere the backend may read them. */
export function encodeRunRequest({ state, action, conversationId, runId, model, offer }: RunRequestParts): Uint8Array {
  const { field } = AgentRunRequestSchema;
  return encodeFields(
    messageField(
      AgentClientMessageSchema.field.runRequest,
      bytesField(field.conversationState, state),
      messageField(field.action, actionField(action, offer)),
      // Both are needed: with only one, some models answer nothing.
      messageField(field.modelDetails, ...detailFields(model)),
      messageField(field.requestedModel, ...requestedFields(model)),
      bytesField(field.mcpTools, offer.mcpTools),
      textField(field.conversationId, conversationId),
      textField(field.runId, runId),
    ),
  );
}

function detailFields({ modelId, displayModelId, displayName, maxMode }: ModelEncoding): readonly Field[] {
  const { field } = ModelDetailsSchema;
  return [
    textField(field.modelId, modelId),
    textField(field.displayModelId, displayModelId),
    textField(field.displayName, displayName),
    ...(maxMode ? [numberField(field.maxMode, 1)] : []),
  ];
}

function requestedFields({ modelId, maxMode, parameters }: ModelEncoding): readonly Field[] {
  const { field } = RequestedModelSchema;
  const { id: name, value: setting } = RequestedModel_ParameterSchema.field;
  return [
    textField(field.modelId, modelId),
    ...(maxMode ? [numberField(field.maxMode, 1)] : []),
    ...parameters.map(({ id, value }) =>
      messageField(field.parameters, textField(name, id), textField(setting, value)),
    ),
  ];
}

function actionField(action: RunAction, { context }: Offer): Field {
  const { userMessageAction, resumeAction } = ConversationActionSchema.field;
  if (action.type === "resume") {
    return messageField(resumeAction, bytesField(ResumeActionSchema.field.requestContext, context));
  }
  const { userMessage, requestContext } = UserMessageActionSchema.field;
  return messageField(
    userMessageAction,
    messageField(userMessage, ...userMessageFields(action.message)),
    bytesField(requestContext, context),
  );
}
