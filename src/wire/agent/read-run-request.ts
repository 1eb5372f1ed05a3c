import { create } from "@bufbuild/protobuf";
import type { ConversationAction } from "../../gen/agent/v1/action_pb.ts";
import { ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import type { RequestContext } from "../../gen/agent/v1/request_context_pb.ts";
import type { AgentRunRequest } from "../../gen/agent/v1/run_pb.ts";
import { type UserMessage, UserMessageSchema } from "../../gen/agent/v1/user_message_pb.ts";
import type { ClientRequests } from "./client-requests.ts";
import { type BlobSource, hexId } from "./state/blobs.ts";

/** Reads blobs from the request itself, and asks the client for all others. */
export function blobSource(request: AgentRunRequest, client: ClientRequests): BlobSource {
  const pushed = new Map<string, Uint8Array>();
  for (const { id, value } of request.preFetchedBlobs) {
    client.checkBlob("run_request.pre_fetched_blobs.value", id, value);
    pushed.set(hexId(id), value);
  }
  return {
    get: async (id) => pushed.get(hexId(id)) ?? (await client.getBlob(id)),
    // The real backend reports a missing blob, with this code.
    onBadId: (field, problem) => client.violate(field, problem, "internal"),
  };
}

/** Asks the client for its request context. Returns it, followed by the one in the action. */
export async function requestContexts(
  { action }: ConversationAction,
  client: ClientRequests,
): Promise<readonly RequestContext[]> {
  const question = create(ExecServerMessageSchema, { message: { case: "requestContextArgs", value: {} } });
  const { messages } = await client.exec(question, true);
  const reply = messages.at(-1)?.message;
  const replied =
    reply?.case === "requestContextResult" && reply.value.result.case === "success"
      ? reply.value.result.value.requestContext
      : undefined;
  const { value } = action;
  const sent = value && "requestContext" in value ? value.requestContext : undefined;
  return [replied, sent].filter((context) => context !== undefined);
}

/** Returns the messages that open a run. Empty if the run resumes an earlier one. */
export function userMessagesOf({ action }: ConversationAction): readonly UserMessage[] {
  switch (action.case) {
    case "userMessageAction":
      return [...action.value.prependUserMessages, action.value.userMessage ?? create(UserMessageSchema)];
    case "startPlanAction":
      return [action.value.userMessage ?? create(UserMessageSchema)];
    case "executePlanAction":
      return [create(UserMessageSchema, { text: action.value.plan?.plan ?? action.value.planFileContent ?? "" })];
    case "injectContextAction": {
      const { context } = action.value;
      if (context.case === "userContext") return [context.value.userMessage ?? create(UserMessageSchema)];
      return context.case === "systemContext" ? [create(UserMessageSchema, { text: context.value.content })] : [];
    }
    case "shellCommandAction":
      return [create(UserMessageSchema, { text: action.value.shellCommand?.command ?? "" })];
    default:
      return [];
  }
}

/** Joins the instructions from the places that the real backend reads. The first context with any wins. */
export function instructionsOf(request: AgentRunRequest, contexts: readonly RequestContext[]): string {
  const cloudRule = contexts.map((context) => context.cloudRule).find((rule) => rule);
  const rules = contexts
    .map(({ rules: own, nonFileRules }) => [...own, ...nonFileRules])
    .find((list) => list.length > 0);
  const global = (rules ?? []).filter(({ type }) => type?.type.case === "global").map(({ content }) => content);
  return [cloudRule, ...global, request.customSystemPrompt].filter((text) => text).join("\n");
}

export interface RequestedModel {
  readonly id: string;
  readonly isMaxMode: boolean;
  readonly parameters: readonly { readonly id: string; readonly value: string }[];
}

export const requestedModel = ({ requestedModel: asked, modelDetails }: AgentRunRequest): RequestedModel => ({
  id: asked?.modelId || modelDetails?.modelId || "default",
  isMaxMode: asked?.maxMode || modelDetails?.maxMode || false,
  parameters: asked?.parameters ?? [],
});
