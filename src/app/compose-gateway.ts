import { createHash } from "node:crypto";
import { join } from "node:path";
import { backendOrigin, CURSOR_ORIGIN } from "../config/backend-origin.ts";
import { openHome } from "../config/home.ts";
import type { Config, Limits } from "../config/settings.ts";
import type { AccessTokens } from "../core/access.ts";
import type { Driver } from "../core/driver.ts";
import { createEngine, type Engine } from "../core/engine/engine.ts";
import type { ParkingLimits } from "../core/engine/parking.ts";
import { ExcursorError } from "../core/errors.ts";
import type { KeptSessions } from "../core/history/kept-sessions.ts";
import { newHopId } from "../core/hops.ts";
import type { Secret } from "../core/secret.ts";
import type { Principal } from "../core/turn.ts";
import { type AcpDriver, createAcpDriver, isAgentModel } from "../drivers/acp/driver.ts";
import { createCursorDriver } from "../drivers/cursor/driver.ts";
import { createModelCatalogue } from "../drivers/cursor/models/model-catalogue.ts";
import { createModelListSource } from "../drivers/cursor/models/model-lists.ts";
import { fitContext } from "../drivers/cursor/request/context-window.ts";
import { withCredential } from "../drivers/shared/account-credential.ts";
import type { FaceContext } from "../faces/shared/face-module.ts";
import { createImageLoader } from "../media/image-loader.ts";
import type { Log } from "../observe/log.ts";
import { logCall, logHubCall } from "../observe/log-call.ts";
import type { SecretOrigin } from "../observe/redactor.ts";
import { createWatchdog } from "../process/watchdog.ts";
import { createSchemaChecker } from "../schema/schema-checker.ts";
import { isOwner } from "../server/gate/credentials.ts";
import type { TokenLedger } from "../server/gate/key-allowance.ts";
import { isLoopback } from "../server/gate/public-bind.ts";
import { createCheckpointStore } from "../state/checkpoint-store.ts";
import { createHubAnswerStore } from "../state/hub-answer-store.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import { createSessionStore } from "../state/session-store.ts";
import { openStateDatabase, type StateDatabase } from "../state/state-database.ts";
import { callHeaders } from "../wire/agent/headers.ts";
import { createHttp1Transport } from "../wire/http/h1-transport.ts";
import { proxyFromEnvironment } from "../wire/http/proxy.ts";
import { createSessionPool } from "../wire/http/session-pool.ts";
import { createAgentTable, hasSwitch } from "./agent-table.ts";
import { composeHub } from "./compose-hub.ts";
import { secretsAmong } from "./environment-secrets.ts";
import { createFaceContext } from "./face-context.ts";
import { createKeyLedger } from "./key-ledger.ts";
import { logPhases } from "./log-phases.ts";
import { withModelNames } from "./models/with-model-names.ts";
import { observeUpstream } from "./observe-upstream.ts";
import { routeModels } from "./route-models.ts";

/** What a gateway is made of. */
export interface GatewayParts {
  readonly engine: Engine;
  readonly faceContext: FaceContext;
  /** Has the backend look at the token of a caller. */
  readonly verifyToken: (principal: Principal, signal: AbortSignal) => Promise<void>;
  /** Names this gateway in requests to other upstreams. */
  readonly hopId: string;
  /** What keys have used. */
  readonly ledger: TokenLedger;
  /** The conversations of editors. */
  readonly sessions: KeptSessions;
  close(): Promise<void>;
}

export interface ComposeOptions {
  readonly config: Config;
  readonly home: string;
  readonly log: Log;
  /** The accounts of callers that bring none. */
  readonly access: AccessTokens;
  /** Told of every secret that the settings lead to. */
  readonly onSecret: (secret: Secret, origin?: SecretOrigin) => void;
  /** The name of the key that a principal came with. */
  readonly keyName: (principalId: string) => string | undefined;
  /** Instead of the settings' backend. */
  readonly origin?: string;
  /** Nothing of the simulator's is kept. */
  readonly isDemo: boolean;
}

/** The one place where everything meets: faces, engine, driver, state. */
export async function composeGateway(options: ComposeOptions): Promise<GatewayParts> {
  const { config, log } = options;
  const origin = backendOrigin(options.origin ?? config.upstream);
  const findProxy = proxyFromEnvironment(process.env);
  const transports = observeUpstream(
    { h2: createSessionPool({ findProxy }), h1: createHttp1Transport({ findProxy }) },
    config.logLevel,
    log,
  );
  const hopId = newHopId();
  const routing = routeModels(config, transports.h1, process.env, hopId);
  for (const key of routing.keys) options.onSecret(key);
  const state = await openState(options, origin);
  const cursor = await createDriver(options, origin, state, transports);
  const agents = createAgents(options);
  const hub = await composeHub({
    ...options,
    keychain: config.keychain,
    searchAbove: config.limits.hubTools,
    isEager: config.tools === "hub",
  });
  const schemas = createSchemaChecker();
  const engine = createEngine({
    drivers: new Map([[config.driver, cursor], ["acp", agents], ...routing.drivers]),
    route: (model) => routing.route(model) ?? (isAgentModel(model) ? "acp" : config.driver),
    parking: parkingLimits(config.limits),
    callLog: (entry) => logCall(log, entry),
    hub,
    hubCallLog: (entry) => logHubCall(log, entry),
    hubAnswers: createHubAnswerStore(state),
    maxHubSteps: config.limits.hubSteps,
    schemas,
  });
  const standIns = {
    isCursors: (model: string) => routing.route(model) === undefined && !isAgentModel(model),
    fallback: routing.fallback,
  };
  const named = withModelNames(engine, { tools: config.tools, aliases: routing.aliases, standIns });
  const facing = logPhases(named, config.logLevel, log);
  const images = createImageLoader({ mode: imageMode(config), maxBytes: config.limits.imageBytes });
  return {
    engine: facing,
    faceContext: createFaceContext({
      engine: facing,
      images,
      log,
      state,
      limits: config.limits,
      thinking: config.thinking,
    }),
    hopId,
    verifyToken: async (principal, signal) => void (await cursor.listModels(principal, signal)),
    sessions: createSessionStore(state),
    ledger: createKeyLedger(createKeyValueStore(state, "key-usage")),
    async close() {
      engine.close();
      await schemas.close();
      await agents.close();
      await hub.close();
      transports.h2.destroy();
      transports.h1.destroy();
      state.close();
    },
  };
}

function createAgents({ config, log, onSecret }: ComposeOptions): AcpDriver {
  const { env: environment } = process;
  const agents = createAgentTable({ entries: config.agents, environment, folder: process.cwd() });
  for (const name of Object.keys(config.agents ?? {})) {
    const agent = agents.get(name);
    if (agent instanceof ExcursorError) log.warn({ agent: name }, agent.message);
    else if (agent) {
      for (const secret of secretsAmong(agent.environment)) onSecret(secret);
      if (!hasSwitch(name, agent)) log.info({ agent: name }, UNBOUND);
    }
  }
  return createAcpDriver({
    agents,
    isAllowed: isOwner,
    watchdog: createWatchdog(),
    environment,
    onExit: (agent, error, stderr) => log.warn({ agent, stderr }, error.message),
  });
}

const UNBOUND =
  "Excursor knows no permission switch of this agent: `allow` and `permissions` hold only as far as the agent asks.";

const parkingLimits = (limits: Limits): ParkingLimits => ({
  ttlMs: limits.parkedMs,
  runs: limits.parkedRuns,
  runsPerPrincipal: limits.parkedRunsPerKey,
  bytes: limits.parkedBytes,
  bytesPerPrincipal: limits.parkedBytesPerKey,
});

/** On a shared server, what others ask to be fetched is fetched from inside its network: only if somebody says so. */
const imageMode = ({ images, host }: Config): "data" | "fetch" =>
  images === "auto" ? (isLoopback(host) ? "fetch" : "data") : images;

async function createDriver(
  { config, log, access }: ComposeOptions,
  origin: string,
  state: StateDatabase,
  transports: Parameters<typeof createCursorDriver>[0]["transports"],
): Promise<Driver> {
  const { clientVersion, checksum } = config;
  const client = { ...(clientVersion !== undefined && { clientVersion }), ...(checksum !== undefined && { checksum }) };
  const models = createModelCatalogue({
    source: createModelListSource({
      transport: transports.h1,
      origin,
      headers: ({ token }) => callHeaders("unary-proto", { token: token.reveal(), ...client }),
    }),
    memory: createKeyValueStore(state, "model-encoding"),
  });
  const cursor = createCursorDriver({
    origin,
    transports,
    models,
    transport: config.transport,
    agentOrigin: config.agentUpstream && new URL(config.agentUpstream).origin,
    checkpoints: createCheckpointStore(state),
    access,
    client,
    context: config.context,
    onUnknown: (what, count) => log.warn({ what, count }, "the backend sent something that we do not know"),
    onToolLeftOut: onceEach((tool) =>
      log.warn({ tool }, "The schema of this tool is nested too deep for the backend: the tool is not offered."),
    ),
  });
  if (config.driver === "cursor") return cursor;
  const { createLegacyDriver } = await import("../drivers/cursor-legacy/driver.ts");
  const legacy = createLegacyDriver({
    origin,
    transport: transports.h2,
    method: config.legacyCall,
    access,
    client,
    listModels: (principal, signal) => cursor.listModels(principal, signal),
    prepare: async (turn) => {
      const model = await withCredential(turn.principal, access, (credential) =>
        models.resolve(turn.model, credential),
      );
      const encoding = model.encodings.find((one) => one?.kind === "variant") ?? model.encodings[0];
      const { modelId: id, maxMode } = encoding;
      const { turn: fitting, trimmedMessages } = fitContext(turn, model, config.context);
      const named = { ...fitting, model: { ...turn.model, id } };
      return { turn: named, trimmedMessages, maxMode, ignoresEffort: model.ignoresEffort, effort: model.effort };
    },
  });
  return { ...legacy, ...(cursor.findModel && { findModel: cursor.findModel }) };
}

/** Calls back for each text once, as far as it can be remembered. */
function onceEach(callback: (text: string) => void): (text: string) => void {
  const seen = new Set<string>();
  return (text) => {
    if (seen.has(text)) return;
    if (seen.size < MAX_SEEN) seen.add(text);
    callback(text);
  };
}

const MAX_SEEN = 1000;

/** One file for each backend: what one of them gave us means nothing to another. */
async function openState({ config, home, isDemo, log }: ComposeOptions, origin: string): Promise<StateDatabase> {
  const onNotice = ({ code, text }: { readonly code: string; readonly text: string }) => log.warn({ code }, text);
  if (isDemo || config.state === "off") return openStateDatabase(":memory:", { onNotice });
  openHome(home);
  const name = createHash("sha256").update(origin).digest("hex").slice(0, 8);
  return openStateDatabase(join(home, origin === CURSOR_ORIGIN ? "state.db" : `state-${name}.db`), { onNotice });
}
