import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { backendOrigin, CURSOR_ORIGIN } from "../config/backend-origin.ts";
import { openHome } from "../config/home.ts";
import type { Limits } from "../config/limits.ts";
import type { AccessTokens } from "../core/access/access.ts";
import type { AgentInfo, ModelInfo } from "../core/driver.ts";
import { createEngine, type Engine } from "../core/engine/engine.ts";
import { ModelDirectory } from "../core/engine/model-directory.ts";
import type { ParkingLimits } from "../core/engine/parking.ts";
import type { KeptSessions } from "../core/history/kept-sessions.ts";
import { newHopId } from "../core/http/hops.ts";
import type { HubAnswers } from "../core/hub/hub-answers.ts";
import { type OpenPrompts, OwnerPrompts } from "../core/owner-prompts.ts";
import type { Secret } from "../core/secret.ts";
import type { Principal } from "../core/turn.ts";
import type { DriverModule } from "../drivers/shared/driver-module.ts";
import type { FaceContext } from "../faces/shared/face-module.ts";
import { createImageLoader } from "../media/image-loader.ts";
import type { GaugeSources } from "../metrics/gauge-sources.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Log } from "../observe/log.ts";
import { logCall, logHubCall } from "../observe/log-call.ts";
import type { SecretOrigin } from "../observe/redactor.ts";
import { createSchemaChecker } from "../schema/schema-checker.ts";
import { Admission } from "../server/gate/admission.ts";
import { isOwner } from "../server/gate/keys/caller-keys.ts";
import type { KeyLimits } from "../server/gate/keys/gateway-keys.ts";
import { isLoopback } from "../server/gate/public-bind.ts";
import { createEditorSessionStore } from "../state/editor-session-store.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import { openStateDatabase, type StateDatabase } from "../state/state-database.ts";
import type { Tracer } from "../traces/tracer.ts";
import { CacheWatch } from "../usage/cache-watch.ts";
import { HeldClock } from "../usage/limits/held-clock.ts";
import { Prices } from "../usage/prices.ts";
import { RecentRequests } from "../usage/record/recent-requests.ts";
import { UsageRecorder } from "../usage/record/usage-recorder.ts";
import type { UsageStore } from "../usage/store/usage-store.ts";
import { createConnectionPool } from "../wire/http/connection-pool.ts";
import { createHttp1Transport } from "../wire/http/h1-transport.ts";
import { proxyFromEnvironment } from "../wire/http/proxy.ts";
import type { Capture } from "./capture/open-capture.ts";
import { openOwnState, openSharedState, type SharedState } from "./cluster/shared-state.ts";
import { composeDrivers, type Drivers } from "./compose-drivers.ts";
import { DRIVERS } from "./drivers.ts";
import { createFaceContext } from "./face-context.ts";
import { type ComposedHub, composeHub } from "./hub/compose-hub.ts";
import type { Config } from "./load-config.ts";
import { withModelNames } from "./models/with-model-names.ts";
import { observeUpstream } from "./observe-upstream.ts";
import { ChargeFollower } from "./usage/charge-follower.ts";
import { createLimits } from "./usage/create-limits.ts";
import { logPhases } from "./usage/log-phases.ts";
import { openTraces } from "./usage/open-traces.ts";
import { openUsage } from "./usage/open-usage.ts";

export interface GatewayParts {
  readonly engine: Engine;
  readonly faceContext: FaceContext;
  readonly admission: Admission;
  /** Identifies this gateway in requests to other upstreams. */
  readonly hopId: string;
  /** Records every request and every tool call. */
  readonly usage: UsageRecorder;
  /** Absent if they are switched off. */
  readonly metrics: Metrics | undefined;
  /** Absent unless a collector is set up. */
  readonly traces: Tracer | undefined;
  readonly record: UsageStore;
  /** The last requests that are over. */
  readonly recent: RecentRequests;
  readonly prices: Prices;
  /** Returns the name of the driver module that answers for a model. */
  readonly driverOf: (model: string) => string;
  /** The models of all upstreams but Cursor. */
  readonly ownModels: {
    list(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]>;
    isOne(model: string): boolean;
  };
  readonly agents: () => readonly AgentInfo[];
  /** Questions of agents that wait for the owner's answer. */
  readonly prompts: OpenPrompts;
  readonly sessions: KeptSessions;
  readonly hub: ComposedHub;
  /** Absent if the gateway is alone. */
  readonly cluster: Cluster | undefined;
  /** Absent if the gateway is alone. */
  readonly shared: SharedState | undefined;
  /** Where calls of tools are kept, so that none is made twice. */
  readonly toolAnswers: HubAnswers;
  prewarm(): void;
  close(): Promise<void>;
}

export interface ComposeOptions {
  readonly config: Config;
  readonly home: string;
  readonly log: Log;
  /** Returns a secret that is made of the gateway's key, one for each purpose. */
  readonly secretFor: (purpose: string) => Secret;
  /** The accounts for callers without a token of their own. */
  readonly access: AccessTokens;
  /** Called with every secret found through the settings. */
  readonly onSecret: (secret: Secret, origin?: SecretOrigin) => void;
  readonly keyName: (principalId: string) => string | undefined;
  readonly keyLimits?: ((principalId: string) => KeyLimits | undefined) | undefined;
  /** Replaces the backend of the settings. */
  readonly origin?: string;
  /** Keeps the state in memory only. */
  readonly isDemo: boolean;
  /** Replaces the registry's drivers. */
  readonly drivers?: readonly DriverModule[] | undefined;
  readonly capture?: Capture | undefined;
  /** Set if the gateway takes part in one. */
  readonly cluster?: Cluster | undefined;
}

/** How long the start waits for MCP servers if every turn offers the hub's tools. */
const HUB_START_MS = 3000;

/** How many finished requests the dashboard shows. */
const RECENT_REQUESTS = 50;

/** Creates faces, engine, drivers and state, and connects them. */
export async function composeGateway(options: ComposeOptions): Promise<GatewayParts> {
  const opened: Closer[] = [];
  /** Closes in reverse order. */
  const close = async () => {
    for (const closeOne of opened.splice(0).reverse()) await closeOne();
  };
  try {
    return { ...(await compose(options, (closer) => opened.push(closer))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Closer = () => unknown;

async function compose(
  options: ComposeOptions,
  onClose: (closer: Closer) => void,
): Promise<Omit<GatewayParts, "close">> {
  const { config, log } = options;
  const { cluster } = options;
  const origin = backendOrigin(options.origin ?? config.upstream);
  const state = await openState(options, origin);
  onClose(() => state.close());
  const shared = cluster && openSharedState(cluster, state, { origin, redisMs: config.limits.redisMs });
  onClose(() => shared?.close());
  const stores = shared ?? openOwnState(state);
  const findProxy = proxyFromEnvironment(process.env);
  const pool = createConnectionPool({ findProxy });
  const observed = observeUpstream({ h2: pool, h1: createHttp1Transport({ findProxy }) }, config.logLevel, log);
  const transports = options.capture?.wrap(observed) ?? observed;
  onClose(() => {
    transports.h2.destroy();
    transports.h1.destroy();
  });
  const clock = new HeldClock();
  const store = await openUsage({ ...options, clock });
  onClose(() => store.close());
  const isRecorded = config.usage.record === "on";
  const prices = new Prices(config.prices);
  const charges = new ChargeFollower({
    access: options.access,
    costOf: (...used) => prices.costOf(...used),
    call: { transport: transports.h1, origin, clientVersion: config.clientVersion },
    store,
    log,
  });
  onClose(() => charges.close());
  const hopId = newHopId();
  const prompts = new OwnerPrompts();
  const drivers = await composeDrivers(options.drivers ?? DRIVERS, config, {
    origin,
    transports,
    environment: process.env,
    access: isRecorded ? charges.watch(options.access) : options.access,
    isOwner,
    prompts,
    hopId,
    log,
    onSecret: options.onSecret,
    checkpoints: stores.checkpoints,
    encodings: createKeyValueStore(state, "model-encoding"),
  });
  onClose(() => drivers.close());
  const traces = openTraces(process.env, { log, onSecret: options.onSecret });
  onClose(() => traces?.close());
  const sources: GaugeSources = {
    engine: () => engine.stats(),
    streams: () => admission.streams,
    upstream: () => pool.stats(),
    retries: () => drivers.retries(),
    hub: () => hub.stats(),
    lostRecords: () => store.lost,
    traces: traces && (() => traces.stats()),
    cluster: cluster && (() => cluster.view()),
  };
  const metrics = config.metrics === "off" ? undefined : new Metrics(sources);
  const caches = new CacheWatch();
  const { limits, requestsPerMinuteOf } = createLimits({
    ...options,
    store,
    prices,
    clock,
    shared: shared?.counts,
  });
  const admission = new Admission({
    limits: config.limits,
    streamsOf: (id) => options.keyLimits?.(id)?.streams,
    requestsPerMinuteOf,
    requestCounter: shared?.requests,
    verifyToken: async (principal, signal) => void (await drivers.cursor.listModels(principal, signal)),
  });
  const recent = new RecentRequests(RECENT_REQUESTS);
  const stream = isRecorded ? shared?.followUsage(store) : undefined;
  onClose(() => stream?.close());
  const recordSinks = isRecorded ? [store, stream] : [];
  const usage = new UsageRecorder({
    limits,
    sinks: [...recordSinks, recent, metrics, traces?.tracer].filter((sink) => sink !== undefined),
    driverName: drivers.moduleOf,
    price: (record) => prices.addCost(record),
    complete: (record, { turn, historyKeys }) => caches.addCache(record, turn, historyKeys),
  });
  const hub = await composeHub({
    ...options,
    keychain: config.keychain,
    searchAbove: config.limits.hubTools,
    startMs: config.tools === "hub" ? HUB_START_MS : undefined,
  });
  onClose(() => hub.close());
  const schemas = createSchemaChecker();
  onClose(() => schemas.close());
  const toolAnswers = stores.hubAnswers;
  const engine = createEngine({
    drivers: drivers.all,
    route: drivers.route,
    parking: parkingLimits(config.limits),
    callLog: (entry) => {
      logCall(log, entry);
      usage.onCall(entry);
      cluster?.onCall(entry);
    },
    hub,
    hubCallLog: (entry) => {
      logHubCall(log, entry);
      usage.onHubCall(entry);
    },
    hubAnswers: toolAnswers,
    sentCalls: stores.sentCalls,
    maxHubSteps: config.limits.hubSteps,
    schemas,
  });
  onClose(() => engine.close());
  cluster?.join(engine);
  const named = withModelNames(engine, { tools: config.tools, aliases: drivers.aliases, standIns: drivers });
  const facing = logPhases(named, config.logLevel, log);
  const images = createImageLoader({ mode: imageMode(config), maxBytes: config.limits.imageBytes });
  return {
    engine: facing,
    usage,
    faceContext: createFaceContext({
      engine: facing,
      images,
      log,
      state,
      stores,
      sealSecret: options.secretFor("reasoning"),
      limits: config.limits,
      thinking: config.thinking,
    }),
    metrics,
    record: store,
    recent,
    prices,
    driverOf: (model) => drivers.moduleOf(drivers.route(model)),
    traces: traces?.tracer,
    hopId,
    admission,
    ownModels: ownModels(drivers),
    agents: () => [...drivers.all.values()].flatMap((driver) => driver.listAgents?.() ?? []),
    prompts,
    sessions: createEditorSessionStore(state),
    toolAnswers,
    shared,
    hub,
    cluster,
    prewarm() {
      drivers.prewarm();
      // Later, so that it does not delay the first request.
      setImmediate(() => prices.load());
    },
  };
}

function ownModels({ all, cursor, route, isCursors }: Drivers): GatewayParts["ownModels"] {
  const own = new ModelDirectory(new Map([...all].filter(([, driver]) => driver !== cursor)), route);
  return { list: (...asked) => own.listModels(...asked), isOne: (model) => !isCursors(model) };
}

const parkingLimits = (limits: Limits): ParkingLimits => ({
  ttlMs: limits.parkedMs,
  pausedMs: limits.pausedMs,
  runs: limits.parkedRuns,
  runsPerPrincipal: limits.parkedRunsPerKey,
  bytes: limits.parkedBytes,
  bytesPerPrincipal: limits.parkedBytesPerKey,
});

/** `auto` does not fetch images on a shared server, since the fetch comes from inside its network. */
const imageMode = ({ images, host }: Config): "data" | "fetch" =>
  images === "auto" ? (isLoopback(host) ? "fetch" : "data") : images;

/** Opens one database per backend: ids and checkpoints of one mean nothing to another. */
async function openState({ config, home, isDemo, log }: ComposeOptions, origin: string): Promise<StateDatabase> {
  const onNotice = ({ code, text }: { readonly code: string; readonly text: string }) => log.warn({ code }, text);
  if (isDemo || config.state === "off") return openStateDatabase(":memory:", { onNotice });
  openHome(home);
  const name = createHash("sha256").update(origin).digest("hex").slice(0, 8);
  return openStateDatabase(join(home, origin === CURSOR_ORIGIN ? "state.db" : `state-${name}.db`), { onNotice });
}
