import { createHash } from "node:crypto";
import type { ConversationStateStructure } from "../../gen/agent/v1/conversation_pb.ts";

/** What the simulator stores in its own checkpoints. */
export interface Marker {
  readonly stepsDone: number;
  /** Index of the turn's first message among the root messages; undefined if the turn is finished. */
  readonly turnStart: number | undefined;
}

const FORM = /^sim-checkpoint:(\d+):(\d+|done):(\d+):([0-9a-f]{64})$/;

/**
 * Adds the marker of a checkpoint to `read_paths`. All known clients have that field in their schema and send it back,
 * even those that drop unknown fields. A digest detects a history that the client has rewritten. A client may add the calls and
 * results of a turn that was suspended, because the prompt cache holds what comes before them.
 */
export function withMarker(state: ConversationStateStructure, marker: Marker): ConversationStateStructure {
  const { rootPromptMessagesJson: roots } = state;
  const text = `sim-checkpoint:${marker.stepsDone}:${marker.turnStart ?? "done"}:${roots.length}`;
  const others = state.readPaths.filter((path) => !FORM.test(path));
  return { ...state, readPaths: [...others, `${text}:${digest(text, roots)}`] };
}

/** Returns the marker, if a simulator wrote the state and nobody has changed it since. */
export function readMarker(state: ConversationStateStructure): Marker | undefined {
  for (const path of state.readPaths) {
    const [whole, stepsDone, start, count, seal] = FORM.exec(path) ?? [];
    if (whole === undefined || seal === undefined) continue;
    const roots = state.rootPromptMessagesJson.slice(0, Number(count));
    if (digest(whole.slice(0, -seal.length - 1), roots) !== seal) return undefined;
    return { stepsDone: Number(stepsDone), turnStart: start === "done" ? undefined : Number(start) };
  }
  return undefined;
}

function digest(text: string, roots: readonly Uint8Array[]): string {
  const hash = createHash("sha256").update(text);
  for (const id of roots) hash.update("\nroot ").update(id);
  return hash.digest("hex");
}
