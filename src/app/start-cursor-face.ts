import { timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import { restOriginOf } from "../config/backend-origin.ts";
import { secretOf } from "../config/key-file.ts";
import type { AccessTokens } from "../core/access/access.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import type { Principal } from "../core/turn.ts";
import { type CursorFaceParts, type GatewayKeys, invalidToken } from "../faces/cursor/index.ts";
import type { Log } from "../observe/log.ts";
import { ConnectionLimit } from "../server/connections.ts";
import { createSiteCheck } from "../server/gate/gate.ts";
import { OWNER } from "../server/gate/keys/caller-keys.ts";
import { digestOf } from "../server/gate/keys/digest.ts";
import type { GatewayKey } from "../server/gate/keys/gateway-keys.ts";
import type { KnownKeys } from "../server/gate/keys/known-keys.ts";
import { WrongKeys } from "../server/gate/keys/wrong-keys.ts";
import { isLoopback } from "../server/gate/public-bind.ts";
import { Refusal } from "../server/refusal.ts";
import { createConnectionPool } from "../wire/http/connection-pool.ts";
import { createHttp1Transport } from "../wire/http/h1-transport.ts";
import { proxyFromEnvironment } from "../wire/http/proxy.ts";
import { ServerExchange, type ServerRequest, STRANGERS } from "../wire/http/server-exchange.ts";
import { listenForBoth } from "../wire/http/server-listener.ts";
import { createOwnAccounts } from "./accounts/own-accounts.ts";
import type { Capture } from "./capture/open-capture.ts";
import type { GatewayParts } from "./compose-gateway.ts";
import { FACES } from "./faces.ts";
import type { Config } from "./load-config.ts";
import { observeUpstream } from "./observe-upstream.ts";

export interface CursorListenerOptions {
  readonly config: Config;
  /** The backend that calls are passed on to. */
  readonly origin: string;
  readonly key: Secret;
  readonly keys: KnownKeys;
  readonly access: AccessTokens;
  /** The names of the accounts that are signed in to the backend. */
  readonly accountNames: () => readonly string[];
  readonly admission: GatewayParts["admission"];
  readonly ownModels: GatewayParts["ownModels"];
  readonly runs: CursorFaceParts["runs"];
  /** True if a balancer should send no more calls here. */
  readonly isDraining: () => boolean;
  /** The messages that opened runs of our own models. Absent: those of this process. */
  readonly messages?: CursorFaceParts["messages"];
  readonly log: Log;
  readonly capture?: Capture | undefined;
}

export interface CursorListener {
  readonly url: string;
  /** Takes no more calls, lets those under way finish for so long, ends the others, and closes. */
  close(graceMs?: number): Promise<void>;
}

/** Loopback only: the face has no key of its own, and what it passes on is the caller's own login. */
const HOST = "127.0.0.1";

const MAX_STREAMS = 250;

/** What a client that was told of the end may still take to read it. */
const LAST_WORDS_MS = 1000;

/** Starts the listener for Cursor's own clients. */
export async function startCursorFace(options: CursorListenerOptions): Promise<CursorListener> {
  const { config, origin, log, isDraining, messages } = options;
  const { limits } = config;
  const findProxy = proxyFromEnvironment(process.env);
  // Separate from the drivers' transports: resets by these clients must not close connections that other runs use.
  const observed = observeUpstream(
    { h1: createHttp1Transport({ findProxy }), h2: createConnectionPool({ findProxy }) },
    config.logLevel,
    log,
  );
  const transports = options.capture?.wrap(observed) ?? observed;
  const wrongKeys = new WrongKeys(limits.wrongKeysPerMinute);
  const face = await FACES.cursor.open({
    backend: { origin, restOrigin: restOriginOf(origin), transports },
    keys: gatewayKeys(options.key, options.keys),
    accounts: createOwnAccounts({
      access: options.access,
      names: options.accountNames,
      origin,
      transport: transports.h1,
    }),
    seat: (...call) => options.admission.seat(...call),
    runs: options.runs,
    listModels: options.ownModels.list,
    isOwnModel: options.ownModels.isOne,
    onOwnCall: options.capture?.cursorTap,
    tokenSecret: secretOf(options.key, "cursor face tokens"),
    isDraining,
    messages,
    refuseToken({ request }, token) {
      const refusal = wrongKeys.refuse(request.socket.remoteAddress ?? "", digestOf(token).toString("latin1"));
      return refusal.kind === "rate-limited" ? refusal : invalidToken();
    },
    onUnknownCall: (path) => log.info({ path }, "a call that Excursor does not know got an empty answer"),
    onBug: (error) => log.error({ cause: error instanceof Error ? error.stack : String(error) }, "cursor face"),
  });

  /** Connections that carried a call of a caller who is known here. */
  const trusted = new WeakSet<Socket>();
  const isKnown = ({ sender }: ServerExchange) => sender !== STRANGERS;
  const connections = new ConnectionLimit(limits.connections, {
    // A stranger's call is no reason to keep a connection before the backend has answered it.
    busy: () =>
      new Set([...active].flatMap((call) => (isKnown(call) || call.hasResponded ? (socketOf(call) ?? []) : []))),
    isTrusted: (socket) => trusted.has(socket),
  });
  const socketOf = ({ request }: ServerExchange): Socket | undefined => listener.socketOf(request);
  const active = new Set<ServerExchange>();
  // Replaced once the port is known. Until then every request is refused.
  let gate: (request: ServerRequest) => void = () => {
    throw new Refusal(503, "busy", "The gateway is starting.");
  };
  const onExchange = (exchange: ServerExchange): void => {
    const startedAt = performance.now();
    active.add(exchange);
    exchange.onOver((wasCut) => {
      active.delete(exchange);
      const { transport, method, path } = exchange;
      log.debug({ transport, method, path, wasCut, ms: Math.round(performance.now() - startedAt) }, "cursor call");
    });
    try {
      gate(exchange.request);
      if (active.size > limits.connections) {
        const oldest = [...active].find((call) => !isKnown(call) && !call.hasResponded && call !== exchange);
        if (!oldest) throw new Refusal(503, "busy", "Too many calls are under way.");
        oldest.reset();
      }
    } catch (error) {
      refuse(exchange, error);
      return;
    }
    face.answer(exchange);
    const socket = isKnown(exchange) && socketOf(exchange);
    if (socket) trusted.add(socket);
  };
  const listener = await listenForBoth({
    host: HOST,
    port: config.cursorPort,
    http1: {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: 0,
      keepAliveTimeout: limits.idleConnectionMs,
      requireHostHeader: false,
    },
    http2: {
      maxHeaderListPairs: limits.headerCount,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: limits.headerBytes, enablePush: false },
    },
    firstBytesMs: limits.headersTimeoutMs,
    onConnection: (socket) => connections.add(socket),
    onRequest: (request, response) => onExchange(new ServerExchange(request, response, options.admission.bodies)),
  }).catch((error) => {
    throw listenError(error, config.cursorPort);
  });
  if (isOurs(origin, listener.port)) {
    listener.destroy();
    await listener.close();
    throw new ExcursorError("upstream_loop");
  }
  gate = createSiteCheck({ host: HOST, port: listener.port, hosts: config.hosts, limits });

  return {
    url: `http://${HOST}:${listener.port}`,
    async close(graceMs = limits.drainMs) {
      const closed = listener.close();
      const end = setTimeout(() => {
        face.endRuns(new ExcursorError("busy", "Excursor is shutting down.", { hint: "Send the message again." }));
        setTimeout(() => listener.destroy(), active.size > 0 ? LAST_WORDS_MS : 0);
      }, graceMs);
      await closed;
      clearTimeout(end);
      face.close();
      transports.h1.destroy();
      transports.h2.destroy();
    },
  };
}

/** Every call would come back to us for ever. */
function isOurs(origin: string, port: number): boolean {
  const url = new URL(origin);
  return url.port === String(port) && isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
}

function refuse(exchange: ServerExchange, thrown: unknown): void {
  const error = ExcursorError.from(thrown);
  exchange.request.resume();
  const status = error instanceof Refusal ? error.status : 500;
  exchange.respondJson(status, { code: error.code, message: error.message });
}

/** The owner's key and those that were given out. */
function gatewayKeys(key: Secret, keys: KnownKeys): GatewayKeys {
  const right = digestOf(key.reveal());
  const holder = (issued: GatewayKey | undefined): Principal | undefined =>
    issued && { id: issued.id, token: undefined, account: issued.account };
  return {
    holderOf(given) {
      const digest = digestOf(given);
      if (timingSafeEqual(digest, right)) return OWNER;
      const issued = keys.withDigest(digest.toString("latin1"));
      return issued && timingSafeEqual(digest, Buffer.from(issued.digest, "latin1")) ? holder(issued) : undefined;
    },
    holderWithId: (id) => (id === OWNER.id ? OWNER : holder(keys.withId(id))),
  };
}

function listenError(error: NodeJS.ErrnoException, port: number): ExcursorError {
  const isTaken = error.code === "EADDRINUSE";
  return new ExcursorError(
    isTaken ? "port_taken" : "listen_failed",
    isTaken
      ? `Port ${port}, for Cursor's clients, is already in use.`
      : `Cannot listen on port ${port} for Cursor's clients: ${error.code ?? error.message}.`,
    {
      hint: "Choose another port with --cursor-port N, or --cursor-port 0 to have one picked.",
      cause: error,
    },
  );
}
