import { onTestFinished } from "vitest";
import { createOwnAccounts } from "../../../../src/app/accounts/own-accounts.ts";
import { captureOwnCalls } from "../../../../src/app/capture/capture-own-calls.ts";
import { captureTransport } from "../../../../src/capture/capture-transport.ts";
import type { CaptureRecorder } from "../../../../src/capture/recorder.ts";
import type { ModelInfo } from "../../../../src/core/driver.ts";
import { Secret } from "../../../../src/core/secret.ts";
import type { Principal } from "../../../../src/core/turn.ts";
import { createFixedAccess } from "../../../../src/credentials/fixed-access.ts";
import { type CursorFace, createCursorFace } from "../../../../src/faces/cursor/face.ts";
import type { ServeRun } from "../../../../src/faces/cursor/run-peer.ts";
import { Admission } from "../../../../src/server/gate/admission.ts";
import type { SimOptions, TraceEntry } from "../../../../src/sim/options.ts";
import { type Simulator, startSim } from "../../../../src/sim/server.ts";
import { createConnectionPool } from "../../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../../src/wire/http/h1-transport.ts";
import { ServerExchange } from "../../../../src/wire/http/server-exchange.ts";
import { listenForBoth } from "../../../../src/wire/http/server-listener.ts";
import { BackendClient, type ClientOptions } from "../../../sim/support/backend-client.ts";
import { DEFAULT_LIMITS } from "../../../support/default-limits.ts";

/** The account that is signed in here. */
export const SIGNED_IN = "signed-in";
export const KEY = "exc_a-key-for-tests";
const OWNER: Principal = { id: "owner", token: undefined };
const GUEST: Principal = { id: "key_guest", token: undefined };

export const LOCAL: ModelInfo = {
  id: "local",
  displayName: "Local",
  aliases: [],
  contextTokens: 64_000,
  supportsImages: true,
  isThinking: true,
  efforts: ["low", "high"],
};
const AGENT: ModelInfo = { ...LOCAL, id: "acp:agent", displayName: "Agent", isThinking: false, efforts: [] };

export interface FaceStage {
  readonly url: string;
  readonly face: CursorFace;
  /** The keys that are valid now, with their holders. */
  readonly keys: Map<string, Principal>;
  connect(transport: "h2" | "h1", options?: Partial<ClientOptions>): BackendClient;
}

export interface FaceStageOptions {
  /** Absent: there are no models of ours. */
  readonly serveRun?: ServeRun;
  readonly models?: readonly ModelInfo[];
  readonly trustedOrigin?: (url: string) => string | undefined;
  /** The other gateways of a cluster. */
  readonly firstAppendMs?: number;
  readonly isDraining?: () => boolean;
  /** Records its calls, as `serve --capture` does. */
  readonly recorder?: CaptureRecorder;
  /** Told of calls that no list names. */
  readonly onUnknownCall?: (path: string) => void;
  /** Where the backend has its REST interface. Absent: at the same origin. */
  readonly restOrigin?: string;
  /** Makes the exchanges of the listener. */
  readonly makeExchange?: (...parts: ConstructorParameters<typeof ServerExchange>) => ServerExchange;
}

/** A face in front of a backend, all gone after the test. */
export async function setUpFace(origin: string, options: FaceStageOptions = {}): Promise<FaceStage> {
  const { recorder } = options;
  const wires = { h1: createHttp1Transport(), h2: createConnectionPool() };
  const transports = recorder
    ? { h1: captureTransport(wires.h1, "h1", recorder), h2: captureTransport(wires.h2, "h2", recorder) }
    : wires;
  onTestFinished(() => {
    transports.h1.destroy();
    transports.h2.destroy();
  });
  const keys = new Map<string, Principal>([
    [KEY, OWNER],
    ["exc_guest", GUEST],
  ]);
  const { serveRun = () => {}, models = options.serveRun ? [LOCAL, AGENT] : [] } = options;
  const { makeExchange = (request, response) => new ServerExchange(request, response) } = options;
  const admission = new Admission({ limits: DEFAULT_LIMITS });
  const face = createCursorFace({
    backend: { origin, restOrigin: options.restOrigin, transports },
    keys: {
      holderOf: (key) => keys.get(key),
      holderWithId: (id) => [...keys.values()].find((holder) => holder.id === id),
    },
    accounts: createOwnAccounts({
      access: createFixedAccess(new Secret(SIGNED_IN)),
      names: () => [],
      origin,
      transport: transports.h1,
    }),
    seat: (...call) => admission.seat(...call),
    serveRun,
    onOwnCall: recorder && captureOwnCalls(recorder),
    listModels: async () => models,
    isOwnModel: (name) => models.some(({ id }) => id === name),
    trustedOrigin: options.trustedOrigin,
    tokenSecret: new Secret("the secret of the tests"),
    firstAppendMs: options.firstAppendMs,
    isDraining: options.isDraining,
    onUnknownCall: options.onUnknownCall,
    onBug: (error) => {
      throw error;
    },
  });
  onTestFinished(() => face.close());
  const listener = await listenForBoth({
    host: "127.0.0.1",
    port: 0,
    onRequest: (request, response) => face.answer(makeExchange(request, response)),
  });
  onTestFinished(() => {
    listener.destroy();
    return listener.close();
  });
  const url = `http://127.0.0.1:${listener.port}`;
  return {
    url,
    face,
    keys,
    connect(transport, more = {}) {
      const client = new BackendClient({ url, transport, token: SIGNED_IN, ...more });
      onTestFinished(() => client.close());
      return client;
    },
  };
}

export interface SimStage extends FaceStage {
  readonly sim: Simulator;
  readonly trace: TraceEntry[];
  /** A client that goes to the simulator without the face. */
  connectDirectly(transport: "h2" | "h1", options?: Partial<ClientOptions>): BackendClient;
}

/** A face in front of a simulator. */
export async function setUpSim(
  options: FaceStageOptions = {},
  simOptions: Partial<SimOptions> = {},
): Promise<SimStage> {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry), ...simOptions });
  onTestFinished(() => sim.close());
  return {
    ...(await setUpFace(sim.url, options)),
    sim,
    trace,
    connectDirectly(transport, more = {}) {
      const client = new BackendClient({ url: sim.url, transport, token: SIGNED_IN, ...more });
      onTestFinished(() => client.close());
      return client;
    },
  };
}
