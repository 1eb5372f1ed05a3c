import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import type { KeyRegister } from "../cluster/redis/keys/key-register.ts";
import { checkKey, keyOf, newKey, secretOf } from "../config/key-file.ts";
import type { AccessTokens } from "../core/access/access.ts";
import type { Engine } from "../core/engine/engine.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { findLogin } from "../credentials/find-login.ts";
import { createFixedAccess } from "../credentials/fixed-access.ts";
import type { DriverModule } from "../drivers/shared/driver-module.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { createLog, type Log } from "../observe/log.ts";
import { LogTail } from "../observe/log-tail.ts";
import { createRedactor, type Redactor, type SecretOrigin } from "../observe/redactor.ts";
import { keysPath } from "../server/gate/keys/gateway-keys.ts";
import { isIssued, KnownKeys } from "../server/gate/keys/known-keys.ts";
import { knowsPeers } from "../server/gate/peer-user.ts";
import { isLoopback } from "../server/gate/public-bind.ts";
import { startGateway } from "../server/gateway.ts";
import type { Gateway } from "../server/gateway-options.ts";
import type { Readiness } from "../server/routes/health-routes.ts";
import type { Simulator } from "../sim/server.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import { type Accounts, openAccounts } from "./accounts/open-accounts.ts";
import { type Capture, openCapture } from "./capture/open-capture.ts";
import { openConfiguredCluster } from "./cluster/open-configured-cluster.ts";
import { shareKeys } from "./cluster/share-keys.ts";
import { composeGateway, type GatewayParts } from "./compose-gateway.ts";
import { composeDashboard, type DashboardServices } from "./dashboard/compose-dashboard.ts";
import { DRIVERS } from "./drivers.ts";
import { FACES } from "./faces.ts";
import type { Config, LoadedConfig } from "./load-config.ts";
import { secretsOf } from "./secrets-of.ts";
import { startBridge } from "./start-bridge.ts";
import { startCursorFace } from "./start-cursor-face.ts";
import { startOllama } from "./start-ollama.ts";
import { recordTurns } from "./usage/record-turns.ts";

/** What users may tell models instead of our instructions. */
const MAX_INSTRUCTION_BYTES = 64 * 1024;

export interface OpenOptions {
  /** Uses the embedded simulator as the backend. */
  readonly isDemo: boolean;
  readonly writeLog: (text: string) => void;
  /** Replaces the registry's drivers. The settings must have been loaded for the same ones. */
  readonly drivers?: readonly DriverModule[];
  /** Opens the door for the commands of this machine. */
  readonly hasDoor?: boolean;
  /** Absent: there is no dashboard. */
  readonly dashboard?: DashboardServices;
}

export interface RunningGateway {
  readonly url: string;
  /** The bridge for the IDE, if it listens. */
  readonly bridgeUrl: string | undefined;
  /** Where Cursor's own clients are served, if they are. */
  readonly cursorUrl: string | undefined;
  /** The listener for Ollama's clients without a key, if there is one. */
  readonly ollamaUrl: string | undefined;
  /** The name in the cluster, if there is one. */
  readonly node: string | undefined;
  readonly port: number;
  readonly key: Secret;
  readonly log: Log;
  /** False if no account is signed in. Then only requests with a Cursor token of their own are answered. */
  readonly isSignedIn: boolean;
  readonly capture: Capture | undefined;
  /** For turns that do not come by a listener. `face` names their origin in the usage record. */
  engineFor(face: string): Engine;
  /** Connects to the backend ahead of the first request, if an account is signed in. Does not wait. */
  prewarm(): void;
  /** Lets answers finish for `graceMs`, or as long as the settings allow. */
  close(graceMs?: number): Promise<void>;
}

/** A gateway without its listeners. */
export interface OpenEngine {
  readonly parts: GatewayParts;
  readonly keys: KnownKeys;
  readonly log: Log;
  /** The last lines of the log. */
  readonly logTail: LogTail;
  readonly redactor: Redactor;
  readonly isSignedIn: boolean;
  /** Absent unless the settings ask for one. */
  readonly capture: Capture | undefined;
  /** The accounts of Cursor that are signed in here. */
  readonly accounts: {
    readonly origin: string;
    readonly access: AccessTokens;
    readonly transport: HttpTransport;
    names(): readonly string[];
  };
  close(): Promise<void>;
}

/** What a gateway has that an engine without listeners has not. */
interface GatewayIdentity {
  /** Its own key. */
  readonly key: Secret;
  readonly version: string;
}

/** Opens everything but the listeners. */
export async function openEngine(
  loaded: LoadedConfig,
  { isDemo, writeLog, drivers }: OpenOptions,
  member?: GatewayIdentity,
): Promise<OpenEngine> {
  const { values: config, home } = loaded;
  const redactor = createRedactor(secretsOf(loaded));
  const logTail = new LogTail();
  const log = createLog({
    level: config.logLevel,
    redactor,
    write: writeLog,
    isPretty: process.stderr.isTTY,
    onLine: (json) => logTail.add(json),
  });

  const onSecret = (secret: Secret, origin?: SecretOrigin) => redactor.add(secret.reveal(), origin);
  const cluster = member && (await openConfiguredCluster(config, member.version, log));
  const accounts = openAccounts(loaded, {
    onSecret: (secret, name) => onSecret(secret, { type: "account", name }),
    onNotice: (text) => log.warn({}, text),
    log,
  });
  let register: KeyRegister | undefined;
  const sim: Simulator | undefined = isDemo ? await startSimulator() : undefined;
  const capture = openCapture(loaded, {
    onEnd: (reason) => log.warn({ reason }, "The capture has ended. Answers continue."),
  });
  const closeBackend = async () => {
    capture?.close();
    await register?.close();
    accounts.close();
    await cluster?.close();
    await sim?.close();
  };
  try {
    register = cluster && (await shareKeys(cluster.link, home, log));
    const access = sim ? createFixedAccess(new Secret("demo")) : accounts.access;
    // No account is needed if callers may send tokens or other upstreams answer. One can be signed in later.
    const isNeeded = config.account !== undefined || !(allowsTokens(config) || hasOtherUpstreams(config, drivers));
    const isSignedIn = sim !== undefined || (await checkAccount(accounts, isNeeded));
    const upstream = sim ? { origin: sim.url, isDemo } : { isDemo };
    const keys = new KnownKeys(keysPath(home), (text) => log.warn({}, text));
    const keyName = (principalId: string) => keys.withId(principalId)?.name;
    const keyLimits = (principalId: string) => keys.withId(principalId)?.limits;
    const parts = await composeGateway({
      config,
      home,
      log,
      cluster,
      access,
      onSecret,
      secretFor: (purpose) => secretOf(member?.key ?? new Secret(newKey()), purpose),
      keyName,
      keyLimits,
      drivers,
      capture,
      ...upstream,
    });
    return {
      parts,
      keys,
      log,
      logTail,
      redactor,
      isSignedIn,
      capture,
      accounts: {
        origin: sim?.url ?? accounts.origin,
        access,
        transport: accounts.transport,
        names: () => accountNames(accounts, sim !== undefined),
      },
      async close() {
        await parts.close();
        await closeBackend();
      },
    };
  } catch (error) {
    // The simulator's listener would keep the failed process alive.
    await closeBackend();
    throw error;
  }
}

const allowsTokens = ({ allowTokens, host }: Config): boolean => allowTokens ?? isLoopback(host);

export async function openGateway(loaded: LoadedConfig, options: OpenOptions): Promise<RunningGateway> {
  const { values: config, home } = loaded;
  if (config.metrics === "open" && !isLoopback(config.host)) throw openBeyondLoopback(config.host);
  const key = config.key ? checkKey(config.key) : keyOf(home);
  const opened = await openEngine(loaded, options, { key, version: options.dashboard?.version ?? "" });
  const { parts, keys, log, redactor, isSignedIn, accounts, capture, close } = opened;
  redactor.add(key.reveal());
  let running: RunningGateway | undefined;
  let closing: Promise<void> | undefined;
  try {
    const gateway = await startGateway({
      ...config,
      ...parts,
      faces: FACES.gateway,
      key,
      allowsTokens: allowsTokens(config),
      issued: { keys },
      readiness: parts.cluster && (() => readinessOf(parts.cluster)),
      metricsRoute: parts.metrics && { page: parts.metrics, isOpen: config.metrics === "open" },
      moreRoutes:
        options.dashboard &&
        composeDashboard({ ...options.dashboard, loaded, opened, isDemo: options.isDemo, running: () => running }),
      door: options.hasDoor
        ? { home, facts: () => ({ cursorUrl: running?.cursorUrl ?? null, bridgeUrl: running?.bridgeUrl ?? null }) }
        : undefined,
      clientTap: capture?.clientTap,
      log,
      redactor,
    });
    const cursor = config.cursorFace
      ? await startCursorFace({
          config,
          origin: accounts.origin,
          key,
          keys,
          access: accounts.access,
          accountNames: accounts.names,
          admission: parts.admission,
          ownModels: parts.ownModels,
          runs: {
            engine: recordTurns(parts.engine, parts.usage, "cursor", (id) => keys.withId(id)?.name),
            answers: parts.toolAnswers,
            isAllowed: ({ id }) => !isIssued(id) || keys.withId(id) !== undefined,
            instructions: () => readSmallFile(join(home, "cursor-instructions.md"), MAX_INSTRUCTION_BYTES),
          },
          isDraining: () => parts.cluster?.isDraining === true,
          messages: parts.shared?.messages,
          log,
          capture,
        }).catch(async (error) => {
          await gateway.close(0);
          throw error;
        })
      : undefined;
    const ollama = config.ollama
      ? await startOllama({
          ...parts,
          port: config.ollamaPort,
          key,
          limits: config.limits,
          clientTap: capture?.clientTap,
          log,
          redactor,
        }).catch(async (error) => {
          await Promise.all([gateway.close(0), cursor?.close(0)]);
          throw error;
        })
      : undefined;
    const bridge = config.bridge?.listens ? await openBridge(config, home, parts, log, redactor) : undefined;
    running = {
      bridgeUrl: bridge?.url,
      cursorUrl: cursor?.url,
      ollamaUrl: ollama?.url,
      node: parts.cluster?.view().node,
      url: gateway.url,
      port: gateway.port,
      key,
      log,
      isSignedIn,
      capture,
      engineFor: (face) => recordTurns(parts.engine, parts.usage, face),
      prewarm: () => isSignedIn && parts.prewarm(),
      close(graceMs) {
        if (graceMs !== undefined) parts.cluster?.endHandOver();
        closing ??= (async () => {
          if (graceMs === undefined) await parts.cluster?.handOver(config.limits.handoverMs);
          await Promise.all([gateway, cursor, bridge, ollama].map((listener) => listener?.close(graceMs)));
          await close();
        })();
        return closing;
      },
    };
    return running;
  } catch (error) {
    await close();
    throw error;
  }
}

const readinessOf = (cluster: Cluster | undefined): Readiness =>
  cluster?.isDraining ? "draining" : cluster?.link.isUp === false ? "degraded" : "ready";

const openBeyondLoopback = (host: string): ExcursorError => new ExcursorError("open_metrics", [host]);

/** The names of the accounts at this backend. The simulator has no accounts but its own. */
const accountNames = ({ store, origin }: Accounts, isDemo: boolean): readonly string[] =>
  isDemo ? [] : store.list().flatMap((entry) => (entry.origin === origin ? [entry.name] : []));

/** Starts the bridge. If it cannot listen, for example since another gateway does, logs that and returns undefined. */
async function openBridge(
  { bridge, bridgePort: port, limits }: Config,
  home: string,
  parts: GatewayParts,
  log: Log,
  redactor: Redactor,
): Promise<Gateway | undefined> {
  const key = keyOf(home, "bridge-key");
  redactor.add(key.reveal());
  const isCompatible = bridge?.compat === true;
  if (isCompatible && !knowsPeers()) {
    log.warn(
      {},
      "bridge.compat has no effect: this system cannot tell which user a connection comes from. The bridge still requires its key.",
    );
  }
  try {
    return await startBridge({ ...parts, port, key, limits, log, redactor, isCompatible });
  } catch (error) {
    log.warn({ port }, `The bridge for the IDE did not start. ${ExcursorError.from(error).message}`);
    return undefined;
  }
}

/** True if a model is routed to another upstream than Cursor. */
export const hasOtherUpstreams = ({ models }: Config, drivers: readonly DriverModule[] = DRIVERS): boolean =>
  Object.values(models).some((value) => {
    const upstream = typeof value === "object" ? value.driver : value;
    return drivers.some(({ name, takesEntries }) => takesEntries && name === upstream);
  });

/** Returns whether the gateway has an account. Throws if an account is required and none is signed in. */
async function checkAccount({ sources }: Accounts, isNeeded: boolean): Promise<boolean> {
  try {
    await findLogin(sources, Date.now(), () => {});
    return true;
  } catch (thrown) {
    const error = ExcursorError.from(thrown);
    // Replaces the hint: the gateway does not run yet, and takes no tokens from requests.
    if (isNeeded && error.code === "not_signed_in") throw error.with({ hint: SIGN_IN });
    if (isNeeded || error.kind === "config") throw error;
    return false;
  }
}

const SIGN_IN =
  "Run `excursor login` and start again. Or set `allowTokens` to true, so that each request can send its own Cursor token.";

/** Loaded on demand. */
async function startSimulator(): Promise<Simulator> {
  const { startSim } = await import("../sim/server.ts");
  return startSim();
}
