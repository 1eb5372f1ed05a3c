import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import type { TurnEvent } from "../../../../../src/core/events.ts";
import type { Turn } from "../../../../../src/core/turn.ts";
import { createServeRun, type ServeRunParts } from "../../../../../src/faces/cursor/run/serve-run.ts";
import type { RunPeer, ServeRun } from "../../../../../src/faces/cursor/run-peer.ts";
import { type AgentClientMessage, AgentClientMessageSchema } from "../../../../../src/gen/agent/v1/run_pb.ts";
import { engineWith, STOP, say } from "../../../../faces/cursor/support/models.ts";
import { type FaceStageOptions, SIGNED_IN, setUpSim } from "../../../../faces/cursor/support/stage.ts";
import { type AgentSettings, SdkProcess } from "../../../support/sdk-process.ts";

export const TRANSPORTS = ["h2", "h1"] as const;
export type Transport = (typeof TRANSPORTS)[number];

export const OWN = { id: "excursor/local" };

/** A folder that is gone after the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-own-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Answer = (turn: Turn, nth: number) => readonly TurnEvent[] | Promise<readonly TurnEvent[]>;

/** Answers round by round: the n-th list for the n-th turn. */
export const rounds =
  (...answers: (readonly TurnEvent[])[]): Answer =>
  (_turn, nth) =>
    answers[nth] ?? [say("?"), STOP];

export interface OwnRunsOptions {
  /** The model that the engine is asked for. */
  readonly model?: string;
  readonly parts?: Partial<ServeRunParts>;
  readonly face?: Omit<FaceStageOptions, "serveRun">;
  /** Called with each message of the client before the run gets it. May lose the message, or change it. */
  readonly beforeMessage?: (message: AgentClientMessage, requestId: string) => "lose" | "changed" | undefined;
  /** Called with each message of the client after the run has got it. */
  readonly onMessage?: (message: AgentClientMessage, requestId: string) => void;
}

/** The official client on a face whose one own model answers by a function of the turn. */
export async function setUpOwnRuns(hostConfig: Transport, answer: Answer, options: OwnRunsOptions = {}) {
  const { engine, turns } = engineWith(answer);
  const serve = createServeRun({ engine, ...options.parts });
  const serveRun = watched((peer) => serve(peer, options.model ?? "m"), options);
  const face = await setUpSim({ ...options.face, serveRun }, { hostConfig });
  const home = makeFolder();
  const cwd = makeFolder();
  const startSdk = () => new SdkProcess({ url: face.url, home, apiKey: SIGNED_IN });
  const agent: AgentSettings = { local: { cwd, enableAgentRetries: false }, model: OWN };
  return { ...face, turns, home, cwd, startSdk, agent };
}

function watched(serve: ServeRun, { beforeMessage, onMessage }: OwnRunsOptions): ServeRun {
  if (!beforeMessage && !onMessage) return serve;
  return (peer, model) => {
    const { requestId, principal } = peer;
    const listen: RunPeer["listen"] = ({ message, gone }) =>
      peer.listen({
        message(payload) {
          const decoded = fromBinary(AgentClientMessageSchema, payload);
          const fate = beforeMessage?.(decoded, requestId);
          if (fate === "lose") return;
          message(fate === "changed" ? toBinary(AgentClientMessageSchema, decoded) : payload);
          onMessage?.(decoded, requestId);
        },
        gone,
      });
    serve(
      {
        requestId,
        principal,
        header: (name) => peer.header(name),
        listen,
        send: (payload) => peer.send(payload),
        end: (error) => peer.end(error),
      },
      model,
    );
  };
}
