import { BoundedMap } from "../../../core/bounded-map.ts";
import type { Engine } from "../../../core/engine/engine.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { type HubAnswers, NO_HUB_ANSWERS } from "../../../core/hub/hub-answers.ts";
import type { Principal } from "../../../core/turn.ts";
import type { AgentRunRequest } from "../../../gen/agent/v1/run_pb.ts";
import type { RunPeer, ServeRun } from "../run-peer.ts";
import { KeptRun } from "./kept-run.ts";
import { OwnRun } from "./own-run.ts";

export interface ServeRunParts {
  readonly engine: Pick<Engine, "run" | "findModel">;
  /** Keeps tool calls and their results over restarts. Absent: those of the last runs are kept in memory. */
  readonly answers?: HubAnswers | undefined;
  /** What models are told, instead of our own instructions. Read for each run. */
  readonly instructions?: (() => string | undefined) | undefined;
  /** How many rounds of tools one run may have. */
  readonly maxSteps?: number;
  /** True if the caller's key is still valid. Asked before each round. */
  readonly isAllowed?: (principal: Principal) => boolean;
  readonly heartbeatMs?: number;
  readonly answerTimeoutMs?: number;
}

const MAX_STEPS = 200;
/** Clients give up after 30 s of silence, and expect a heartbeat every 5 s. */
const HEARTBEAT_MS = 4000;
const ANSWER_TIMEOUT_MS = 30_000;
const MAX_KEPT_RUNS = 64;

/** Returns the function that answers runs of our own models. */
export function createServeRun(parts: ServeRunParts): ServeRun {
  const { engine, answers = NO_HUB_ANSWERS, isAllowed = () => true } = parts;
  const live = new Map<string, OwnRun>();
  const kept = new BoundedMap<string, KeptRun>(MAX_KEPT_RUNS);

  const openKept = (run: OwnRun, peer: RunPeer) => async (request: AgentRunRequest) => {
    const { id: principalId } = peer.principal;
    const runId = request.runId || peer.header("x-original-request-id") || peer.requestId;
    const key = `${principalId} ${runId}`;
    // The client has begun the run again, so the earlier attempt has lost its reader.
    const earlier = live.get(key);
    live.set(key, run);
    void run.ended.then(() => live.get(key) === run && live.delete(key));
    if (earlier) {
      earlier.stop(new ExcursorError("canceled", "The client has begun this run again."));
      await earlier.ended;
    }
    // Another process may have made a later attempt. The store knows less of one that was made here.
    const stored = await KeptRun.open(answers, principalId, runId);
    const known = kept.get(key);
    const found = known && known.progress >= stored.progress ? known : stored;
    kept.set(key, found);
    return found;
  };

  return (peer, model) => {
    const run: OwnRun = new OwnRun({
      engine,
      peer,
      model,
      instructions: parts.instructions?.(),
      maxSteps: parts.maxSteps ?? MAX_STEPS,
      heartbeatMs: parts.heartbeatMs ?? HEARTBEAT_MS,
      answerTimeoutMs: parts.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
      checkCaller: () => {
        if (isAllowed(peer.principal)) return;
        throw new ExcursorError("unauthenticated", "The key of this run is no longer valid.", {
          hint: "Sign in again, or ask for a new key.",
        });
      },
      openKept: (request) => openKept(run, peer)(request),
    });
    peer.listen({ message: (payload) => run.receive(payload), gone: () => run.gone() });
  };
}
