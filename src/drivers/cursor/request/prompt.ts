import { randomUUID } from "node:crypto";
import type { CheckpointStore } from "../../../core/history/checkpoints.ts";
import { historyKeys } from "../../../core/history/history-key.ts";
import type { Turn } from "../../../core/turn.ts";
import { Blobs } from "../../../wire/agent/state/blobs.ts";
import { stateFromHistory } from "../../../wire/agent/state/build-state.ts";
import { pairResults } from "../../shared/pair-results.ts";
import type { RunAction } from "./run-request.ts";

/** What a run begins from. */
export interface Prompt {
  readonly conversationId: string;
  /** A serialized `ConversationStateStructure`. */
  readonly state: Uint8Array;
  readonly blobs: Blobs;
  readonly action: RunAction;
  /** From a checkpoint of the backend's, so that it need not read the history again. */
  readonly isContinued: boolean;
}

/**
 * Continues the conversation where the backend's own checkpoint stands, if there is one after exactly this history.
 * An edited or forked history has none, and is told anew.
 */
export function preparePrompt(turn: Turn, owner: string, checkpoints: CheckpointStore): Prompt {
  const { messages } = turn;
  const last = messages.at(-1);
  const key = historyKeys(messages.slice(0, -1)).at(-1);
  const found = last?.role === "user" && messages.length > 1 ? checkpoints.find(owner, key ?? "") : undefined;
  if (!found || last?.role !== "user") return rebuildPrompt(turn);
  return {
    conversationId: found.conversationId,
    state: found.state,
    blobs: new Blobs(found.blobs),
    action: { type: "user", message: last },
    isContinued: true,
  };
}

/** The same from the client's own transcript, in a new conversation. */
export function rebuildPrompt({ messages }: Turn): Prompt {
  const blobs = new Blobs();
  const last = messages.at(-1);
  const isAsked = last?.role === "user";
  return {
    conversationId: randomUUID(),
    state: stateFromHistory(pairResults(isAsked ? messages.slice(0, -1) : messages), blobs),
    blobs,
    action: isAsked ? { type: "user", message: last } : { type: "resume" },
    isContinued: false,
  };
}
