import { create } from "@bufbuild/protobuf";
import type { ConversationAction } from "../../gen/agent/v1/action_pb.ts";
import { ConversationStateStructureSchema } from "../../gen/agent/v1/conversation_pb.ts";
import { ExecServerMessageSchema } from "../../gen/agent/v1/exec_pb.ts";
import type { RequestContext } from "../../gen/agent/v1/request_context_pb.ts";
import type { AgentRunRequest } from "../../gen/agent/v1/run_pb.ts";
import { type UserMessage, UserMessageSchema } from "../../gen/agent/v1/user_message_pb.ts";
import { ConnectFailure } from "../connect-failure.ts";
import type { SimOptions } from "../options.ts";
import { asOneTurn, describeHistory, scriptOf, splitTurns, type Turn } from "../script/conversation.ts";
import type { Script } from "../script/parse.ts";
import type { Received } from "../script/placeholders.ts";
import { stepsDone } from "../script/progress.ts";
import type { Correspondence } from "./correspondence.ts";
import { defaultScript } from "./echo.ts";
import { readMarker } from "./marker.ts";
import { readPlainHistory } from "./read-history.ts";
import { type BlobSource, type History, readHistory, readUserMessage } from "./read-state.ts";
import { OfferedTools } from "./tools.ts";
import { Transcript } from "./transcript.ts";

/** All that a run knows before it says its first word. */
export interface Briefing {
  readonly script: Script | undefined;
  /** Steps of the script that an earlier run has done. */
  readonly from: number;
  readonly turn: Turn;
  /** How many turns the conversation has, this one included. */
  readonly turnCount: number;
  readonly startedFrom: "checkpoint" | "fresh";
  readonly tools: OfferedTools;
  readonly transcript: Transcript;
  readonly received: Omit<Received, "reused" | "user">;
  readonly modelId: string;
  readonly isMaxMode: boolean;
  /** An estimate, at four characters a token. */
  readonly inputTokens: number;
}

/** Reads what the client brought and asks it for the rest: the blobs of its history, then its context. */
export async function brief(
  request: AgentRunRequest,
  requestId: string,
  client: Correspondence,
  options: SimOptions,
): Promise<Briefing> {
  const state = request.conversationState ?? create(ConversationStateStructureSchema);
  const { action } = request;
  if (!action?.action.case) throw new ConnectFailure("invalid_argument", "run_request.action: there is none.");

  const blobs = blobSource(request, client);
  const history = withPlainHistory(await readHistory(state, blobs), action);
  const context = await requestContext(action, client);
  const tools = new OfferedTools([...(request.mcpTools?.mcpTools ?? []), ...context.flatMap((part) => part.tools)]);

  const asked = userMessagesOf(action);
  const active = await Promise.all(asked.map((message) => readUserMessage(message, blobs)));
  const messages = [...history.messages, ...active];
  const marker = readMarker(state);
  const isResumed = asked.length === 0;

  // A turn that is taken up again may look finished: its text so far ends like any answer.
  const start = (isResumed ? marker?.turnStart : undefined) ?? splitTurns(messages).at(-1)?.start ?? messages.length;
  const turn = asOneTurn(messages, start);
  const turns = [...splitTurns(messages.slice(0, start)), turn];
  const script = scriptOf(turns) ?? defaultScript(options, turns.length);
  const done = stepsDone(script?.steps ?? [], turn.calls, (a, b) => tools.isSame(a, b));

  const unrooted = history.isInRoots ? [] : history.messages.filter((message) => message.role !== "system");
  const transcript = new Transcript(state, unrooted, requestId);
  asked.forEach((message, index) => {
    transcript.addUser(message, active[index]?.text ?? "");
  });

  const system = systemText(request, context);
  const describe = (until: number) => describeHistory(messages.slice(0, until));
  const { id: modelId, text: model, isMaxMode } = modelOf(request);
  return {
    script,
    from: isResumed && marker?.turnStart !== undefined ? Math.max(marker.stepsDone, done) : done,
    turn,
    turnCount: turns.length,
    startedFrom: marker ? "checkpoint" : "fresh",
    tools,
    transcript,
    received: {
      system,
      tools: tools.names.join(","),
      model,
      images: [turn.images.length, turn.images.map(({ type, bytes }) => `${type}:${bytes}`).join(",")].join(" ").trim(),
      get history() {
        return describe(history.messages.length);
      },
    },
    modelId,
    isMaxMode,
    inputTokens: Math.ceil((system.length + describe(messages.length).length) / 4),
  };
}

/** History that came beside the message counts where the state holds none. */
function withPlainHistory(history: History, { action }: ConversationAction): History {
  const plain = action.case === "userMessageAction" ? readPlainHistory(action.value.conversationHistory) : [];
  if (plain.length === 0 || history.messages.some(({ role }) => role !== "system")) return history;
  return { messages: [...history.messages, ...plain], isInRoots: false };
}

function blobSource(request: AgentRunRequest, client: Correspondence): BlobSource {
  const pushed = new Map<string, Uint8Array>();
  for (const { id, value } of request.preFetchedBlobs) {
    client.checkBlob("run_request.pre_fetched_blobs.value", id, value);
    pushed.set(Buffer.from(id).toString("hex"), value);
  }
  return {
    get: async (id) => pushed.get(Buffer.from(id).toString("hex")) ?? (await client.getBlob(id)),
    // To the real backend it is a blob that nobody has, and clients go by that code.
    reject: (field, problem) => client.violate(field, problem, "internal"),
  };
}

/** The context as the client answers it, and what it sent along unasked. */
async function requestContext(action: ConversationAction, client: Correspondence): Promise<readonly RequestContext[]> {
  const question = create(ExecServerMessageSchema, { message: { case: "requestContextArgs", value: {} } });
  const { messages } = await client.exec(question, true);
  const answer = messages.at(-1)?.message;
  const answered =
    answer?.case === "requestContextResult" && answer.value.result.case === "success"
      ? answer.value.result.value.requestContext
      : undefined;
  const { value } = action.action;
  const sent = value && "requestContext" in value ? value.requestContext : undefined;
  return [answered, sent].filter((context) => context !== undefined);
}

/** The messages that open this run; none if it takes up an earlier one. */
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

/** The channels for a system prompt that the real backend honours. The first context to fill one wins. */
function systemText(request: AgentRunRequest, context: readonly RequestContext[]): string {
  const cloudRule = context.map((part) => part.cloudRule).find((rule) => rule);
  const rules = context.map((part) => [...part.rules, ...part.nonFileRules]).find((list) => list.length > 0) ?? [];
  const global = rules.filter((rule) => rule.type?.type.case === "global").map((rule) => rule.content);
  return [cloudRule, ...global, request.customSystemPrompt].filter((text) => text).join("\n");
}

function modelOf({ requestedModel, modelDetails }: AgentRunRequest) {
  const id = requestedModel?.modelId || modelDetails?.modelId || "default";
  const parameters = requestedModel?.parameters.map(({ id: key, value }) => `${key}=${value}`) ?? [];
  const isMaxMode = requestedModel?.maxMode || modelDetails?.maxMode || false;
  return { id, isMaxMode, text: [id, ...parameters, ...(isMaxMode ? ["max_mode=true"] : [])].join(" ") };
}
