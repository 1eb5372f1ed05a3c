import { create } from "@bufbuild/protobuf";
import { textOf } from "../../core/turn.ts";
import { ConversationStateStructureSchema } from "../../gen/agent/v1/conversation_pb.ts";
import type { AgentRunRequest } from "../../gen/agent/v1/run_pb.ts";
import type { ClientRequests } from "../../wire/agent/client-requests.ts";
import { OfferedTools } from "../../wire/agent/exec/offered-tools.ts";
import {
  blobSource,
  instructionsOf,
  requestContexts,
  requestedModel,
  userMessagesOf,
} from "../../wire/agent/read-run-request.ts";
import { Transcript } from "../../wire/agent/state/transcript.ts";
import { readUserMessage } from "../../wire/agent/state/user-message.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { SimOptions } from "../options.ts";
import { asOneTurn, describeHistory, scriptOf, splitTurns, type Turn } from "../script/conversation.ts";
import type { Script } from "../script/parse.ts";
import type { Received } from "../script/placeholders.ts";
import { stepsDone } from "../script/progress.ts";
import { defaultScript } from "./echo.ts";
import { readMarker } from "./marker.ts";
import { asFailure, forScript, readHistory } from "./read-history.ts";

/** Everything that a run knows before it starts to answer. */
export interface RunInput {
  readonly script: Script | undefined;
  /** Steps of the script that an earlier run has done. */
  readonly from: number;
  readonly turn: Turn;
  /** The number of turns in the conversation, this one included. */
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

/** Reads the request, and asks the client for the rest: the blobs of its history, then its context. */
export async function brief(
  request: AgentRunRequest,
  requestId: string,
  client: ClientRequests,
  options: SimOptions,
): Promise<RunInput> {
  const state = request.conversationState ?? create(ConversationStateStructureSchema);
  const { action } = request;
  if (!action?.action.case) throw new ConnectFailure("invalid_argument", "run_request.action is missing.");

  const blobs = blobSource(request, client);
  const history = await readHistory(state, action, blobs);
  const contexts = await requestContexts(action, client);
  const tools = new OfferedTools([...(request.mcpTools?.mcpTools ?? []), ...contexts.flatMap((part) => part.tools)]);

  const asked = userMessagesOf(action);
  const active = await Promise.all(asked.map((message) => readUserMessage(message, blobs))).catch(asFailure);
  const before = history.messages.flatMap(forScript);
  const messages = [...before, ...active.flatMap(forScript)];
  const marker = readMarker(state);
  const isResumed = asked.length === 0;

  // A resumed turn may look finished, because its text so far ends like any answer.
  const start = (isResumed ? marker?.turnStart : undefined) ?? splitTurns(messages).at(-1)?.start ?? messages.length;
  const turn = asOneTurn(messages, start);
  const turns = [...splitTurns(messages.slice(0, start)), turn];
  const script = scriptOf(turns) ?? defaultScript(options, turns.length);
  const done = stepsDone(script?.steps ?? [], turn.calls, (a, b) => tools.isSame(a, b));

  const unrooted = history.isInRoots ? [] : history.messages.filter((message) => message.role !== "system");
  const transcript = new Transcript(state, unrooted, requestId);
  asked.forEach((message, index) => {
    transcript.addUser(message, textOf(active[index]?.content ?? []));
  });

  const system = instructionsOf(request, contexts);
  const describe = (until: number) => describeHistory(messages.slice(0, until));
  const { id: modelId, parameters, isMaxMode } = requestedModel(request);
  const settings = parameters.map(({ id, value }) => `${id}=${value}`);
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
      model: [modelId, ...settings, ...(isMaxMode ? ["max_mode=true"] : [])].join(" "),
      images: [turn.images.length, turn.images.map(({ type, bytes }) => `${type}:${bytes}`).join(",")].join(" ").trim(),
      get history() {
        return describe(before.length);
      },
    },
    modelId,
    isMaxMode,
    inputTokens: Math.ceil((system.length + describe(messages.length).length) / 4),
  };
}
