import { randomUUID } from "node:crypto";
import type { CheckpointStore } from "../../../core/history/checkpoints.ts";
import { historyKeys } from "../../../core/history/history-key.ts";
import type { Turn } from "../../../core/turn.ts";
import { Blobs } from "../../../wire/agent/state/blobs.ts";
import { stateFromHistory } from "../../../wire/agent/state/build-state.ts";
import { pairResults } from "../../shared/pair-results.ts";
import type { ResolvedModel } from "../models/model.ts";
import type { RunAction } from "./run-request.ts";
import { type OwedResult, suspendedTurn } from "./suspended.ts";

interface AskedTurn {
  readonly turn: Turn;
  readonly model: Pick<ResolvedModel, "encodings">;
}

/** The starting point of a run. */
export interface Prompt {
  readonly conversationId: string;
  /** A serialized `ConversationStateStructure`. */
  readonly state: Uint8Array;
  readonly blobs: Blobs;
  readonly action: RunAction;
  /** The results for a turn that waited for them; the backend makes its calls again. */
  readonly owed: readonly OwedResult[];
  /** True if it begins from a checkpoint, so that the backend does not read the history again. */
  readonly isContinued: boolean;
}

/**
 * Resumes from the backend's checkpoint after exactly this history, if there is one: after an answer, or in a turn that
 * waited for the results that the history ends with. An edited or forked history has none, and is replayed from the
 * transcript.
 */
export async function preparePrompt(
  { turn, model }: AskedTurn,
  owner: string,
  checkpoints: CheckpointStore,
): Promise<Prompt> {
  const last = turn.messages.at(-1);
  const suspended = suspendedTurn(turn);
  const key = suspended?.key ?? checkpointKey(turn);
  const found = key === undefined ? undefined : await checkpoints.find(owner, key);
  if (!found) return rebuildPrompt({ turn, model });
  return {
    conversationId: found.conversationId,
    state: found.state,
    blobs: new Blobs(found.blobs),
    action: last?.role === "user" ? { type: "user", message: last } : { type: "resume" },
    owed: suspended?.owed ?? [],
    isContinued: true,
  };
}

/** Returns the key of the checkpoint from which a turn can resume. Undefined if it resumes from none. */
function checkpointKey({ messages }: Turn): string | undefined {
  const isContinued = messages.at(-1)?.role === "user" && messages.length > 1;
  return isContinued ? historyKeys(messages.slice(0, -1)).at(-1) : undefined;
}

/** Replays the client's transcript in a new conversation. */
export function rebuildPrompt({ turn, model }: AskedTurn): Prompt {
  const { messages } = turn;
  const blobs = new Blobs();
  const last = messages.at(-1);
  const question = last?.role === "user" ? last : undefined;
  return {
    conversationId: randomUUID(),
    state: stateFromHistory(pairResults(question ? messages.slice(0, -1) : messages), blobs),
    blobs,
    action: question ? { type: "user", message: question } : continuing(model),
    owed: [],
    isContinued: false,
  };
}

/** Models that answer after tool results when they are only resumed. Others then begin to explore again. */
const RESUMABLE = /^(?:default$|cursor-|composer-(?!2\.5$))/;

/** Returns the action that continues after tool results. */
function continuing({ encodings: [{ modelId }] }: AskedTurn["model"]): RunAction {
  if (RESUMABLE.test(modelId)) return { type: "resume" };
  const text = "Continue: you have the results of your tool calls now.";
  return { type: "user", message: { role: "user", content: [{ type: "text", text }] } };
}
