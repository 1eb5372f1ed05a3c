import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Awaitable } from "../core/awaitable.ts";
import { isLoop } from "../core/http/hops.ts";
import type { TracedRequest } from "../core/http/trace-context.ts";
import type { Principal } from "../core/turn.ts";
import { within } from "../core/within.ts";
import { clientFamily } from "../usage/record/client-family.ts";
import { cancelRevoked } from "./cancel-requests.ts";
import { discardBody } from "./discard-body.ts";
import { Cors } from "./gate/cors.ts";
import { takeCredentials } from "./gate/face-credentials.ts";
import { createGate, type Gate } from "./gate/gate.ts";
import { hopsOf } from "./gate/hops-of.ts";
import { OWNER } from "./gate/keys/caller-keys.ts";
import { isIssued, type KnownKeys } from "./gate/keys/known-keys.ts";
import { allowReading, answerPreflight } from "./gate/page-access.ts";
import { createPathGuard } from "./gate/path-secret.ts";
import { checkBind } from "./gate/public-bind.ts";
import { Seats } from "./gate/seats.ts";
import { type Exchange, GatewayExchange } from "./gateway-exchange.ts";
import type { Gateway, GatewayOptions } from "./gateway-options.ts";
import { loop, noSuchRoute, shuttingDown, wrongMethod } from "./gateway-refusals.ts";
import { type ListenOptions, listen } from "./listener.ts";
import { liveRequests, type ServerView } from "./live-requests.ts";
import { logRequest } from "./log-request.ts";
import { openDoor } from "./open-door.ts";
import { Refusal } from "./refusal.ts";
import { doorRoute } from "./routes/door-route.ts";
import { faceRoutes } from "./routes/face-routes.ts";
import { createFaceGuess } from "./routes/guess-face.ts";
import { healthRoutes } from "./routes/health-routes.ts";
import { METRICS_PATH, metricsRoute } from "./routes/metrics-route.ts";
import { answersRoute, Questions } from "./routes/questions.ts";
import { createRouter, type Route } from "./routes/route.ts";
import type { MessageExchange } from "./sockets/message-exchange.ts";
import { Sockets } from "./sockets/sockets.ts";
import { answerRaw, type ParserError, readHead, unreadable } from "./unreadable-request.ts";

/** How long cancelled clients have to read the error. */
const LAST_WORDS_MS = 1000;

/**
 * How often requests under way are checked. The news of a revoked key may need up to half a second before that, and its
 * answers end within a second.
 */
const WATCH_MS = 250;

/** Starts the gateway. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, limits, engine, faces, faceContext, log, redactor, issued, page, admission, door } = options;
  checkBind(host);
  const active = new Set<Exchange>();
  const sockets = new Sockets(new Seats("WebSocket connections", limits.socketsPerKey));
  /** Connections that carried a request with an accepted key or token. */
  const trusted = new WeakSet<Socket>();
  /** Connections through the door. */
  const owners = new WeakSet<Socket>();
  // The bridge asks its user in its own protocol.
  const questions = page ? undefined : new Questions();
  let isDraining = false;
  let onIdle = () => {};
  const routes: readonly Route[] = [
    ...healthRoutes(faces[0], () => (isDraining ? "draining" : (options.readiness?.() ?? "ready"))),
    ...(door ? [doorRoute(faces[0], () => ({ host, port: listener.port, ...door.facts() }))] : []),
    ...(options.metricsRoute ? [metricsRoute(faces[0], options.metricsRoute)] : []),
    ...faces.flatMap((face) =>
      faceRoutes(face, faceContext, {
        engine,
        limits,
        questions,
        clientTap: options.clientTap,
        log,
        socketService:
          options.websocket === "off"
            ? undefined
            : { sockets, serve: (exchange, answer) => serveMessage(exchange, face.name, answer) },
      }),
    ),
    ...(questions ? [answersRoute(questions, faces[0], limits)] : []),
    ...(options.moreRoutes?.({
      requests: () => liveRequests(active, (principal) => keyNameOf(principal, issued?.keys)),
      get streams() {
        return admission.streams;
      },
      serveAsOwner: (...request) => serveAsOwner(...request),
    }) ?? []),
  ];

  const findRoute = createRouter(routes);
  const faceFor = createFaceGuess(faces, routes);
  const redact = (text: string) => redactor.redact(text);
  const letIn = createPathGuard(options.pathSecret);
  const cors = new Cors(options.origins);

  /** Checks the limits of the principal. A promise only if that takes time. */
  const admit = (exchange: Exchange, isOpen: boolean): Awaitable<void> => {
    const { principal } = exchange;
    if (isDraining && (!isOpen || exchange.isInternal)) throw shuttingDown();
    if (!principal) return undefined;
    exchange.seat = admission.seat(principal, !isOpen);
    if (exchange.unverified) exchange.principal = { ...principal, isUnverified: true };
    return exchange.seat.admitted;
  };

  const onOver = (exchange: Exchange) => {
    active.delete(exchange);
    exchange.seat?.leave();
    logRequest(log, exchange);
    if (active.size === 0) onIdle();
  };

  const onFailed = ({ seat, notes }: Exchange) => {
    if (notes.error?.kind === "unauthenticated") seat?.refuseToken();
  };

  /** Serves one message of a WebSocket as a request. */
  const serveMessage = async (exchange: MessageExchange, face: string, answer: () => Promise<void>) => {
    active.add(exchange);
    exchange.recording = options.usage?.begin(exchange.id, exchange.startedAt);
    try {
      exchange.trace = options.traces?.begin(tracedRequest(exchange, exchange.asker));
      await admit(exchange, false);
      exchange.recording?.routed();
      await answer();
    } catch (error) {
      exchange.fail(error);
      onFailed(exchange);
    }
    onOver(exchange);
    record(exchange, face);
  };

  const serveAsOwner: ServerView["serveAsOwner"] = async (exchange, prefix) => {
    const { request } = exchange;
    request.url = request.url?.slice(prefix.length) ?? "";
    const match = findRoute(request);
    if (match.type !== "found" || match.route.isOpen || match.route.isInternal) throw noSuchRoute();
    const { route, parameters } = match;
    exchange.isInternal = false;
    exchange.principal = OWNER;
    exchange.notes.route = route.path;
    exchange.notes.face = route.face.name;
    exchange.recording = options.usage?.begin(exchange.id, exchange.startedAt);
    try {
      exchange.trace = options.traces?.begin(tracedRequest(exchange, OWNER));
      await admit(exchange, false);
      exchange.recording?.routed();
      await route.handle(exchange, parameters);
    } catch (error) {
      if (!request.complete) discardBody(request, exchange.response, limits);
      exchange.fail(error, route.face);
    }
  };

  const onRequest = async (request: IncomingMessage, response: ServerResponse, upgradeHead?: Buffer) => {
    const exchange = new GatewayExchange({ request, response, redact, bodies: admission.bodies, upgradeHead });
    const isLetIn = letIn(request);
    const match = isLetIn ? findRoute(request) : ({ type: "none" } as const);
    const face = match.type === "found" ? match.route.face : match.type === "none" ? faceFor(request) : match.face;
    const keys = takeCredentials(request, face.credentials);
    active.add(exchange);
    // Write errors are ignored: the close event follows.
    response.on("error", () => {});
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    response.once("close", () => onOver(exchange));
    const isOpen = match.type === "found" && match.route.isOpen === true;
    const isUnrecorded = match.type === "found" && match.route.isUnrecorded === true;
    exchange.isInternal = match.type === "found" && match.route.isInternal === true;
    if (!isOpen && !isUnrecorded && !exchange.isInternal)
      exchange.recording = options.usage?.begin(exchange.id, exchange.startedAt);
    try {
      if (!isLetIn) throw noSuchRoute();
      cors.allowReading(request, response);
      if (cors.isPreflight(request)) {
        await gate(request, true);
        cors.answerPreflight(request, response);
        return;
      }
      if (page) allowReading(request, response, page);
      if (page && request.method === "OPTIONS") {
        await gate(request, true);
        answerPreflight(request, response, page);
        return;
      }
      const principal = await gate(request, isOpen, keys);
      exchange.principal = principal;
      if (principal) exchange.trace = options.traces?.begin(tracedRequest(exchange, principal));
      if (match.type === "wrong-method") throw wrongMethod(match.allow);
      if (match.type === "none") throw noSuchRoute();
      exchange.notes.route = match.route.path;
      if (options.hopId !== undefined && isLoop(hopsOf(request), options.hopId)) throw loop();
      // Awaited only if it takes time: most requests have no limit that others count, too.
      const admitted = admit(exchange, isOpen);
      if (admitted) await admitted;
      if (principal && !exchange.unverified) trusted.add(request.socket);
      if (principal?.token) redactor.add(principal.token.reveal(), "caller");
      exchange.recording?.routed();
      await match.route.handle(exchange, match.parameters);
    } catch (error) {
      if (!request.complete) discardBody(request, response, limits);
      exchange.fail(error, face);
      onFailed(exchange);
    }
    await closed;
    record(exchange, face.name);
  };

  /** Answers in the dialect of the request, as far as it can be told. */
  const onUnreadable = (error: ParserError, socket: Socket) => {
    const current = [...active]
      .filter((exchange) => exchange instanceof GatewayExchange)
      .find(({ request }) => request.socket === socket);
    // An answer on its way must not be mixed with another.
    if (!socket.writable || current?.response.headersSent || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const refusal = unreadable(error);
    const requestId = current?.id ?? randomUUID();
    const { body } = faceFor(current?.request ?? readHead(error)).error(refusal, requestId, refusal.status);
    log.info({ requestId, route: "none", status: refusal.status, error: refusal.code }, "request");
    answerRaw(socket, refusal.status, redact(JSON.stringify({ ...body, request_id: requestId })));
  };

  /** Hands the request to the usage record, once it is over for the client and for the upstream. */
  const record = (exchange: Exchange, face: string) => {
    const { recording, principal, notes, request } = exchange;
    if (!recording) return;
    const { status, error } = exchange.outcome();
    options.usage?.end(recording, {
      principalId: principal?.id ?? "",
      keyName: principal ? keyNameOf(principal, issued?.keys) : "",
      client: clientFamily(request.headers["user-agent"]),
      face: notes.face ?? face,
      route: notes.route,
      status,
      errorCode: error,
    });
  };

  // The gate needs the port, so requests are refused until the listener has one.
  let gate: Gate = () => {
    throw new Refusal(503, "busy", "The gateway is starting.");
  };
  const listenOptions: ListenOptions = {
    host,
    port: options.port,
    limits,
    onRequest: (request, response) => void onRequest(request, response),
    onWebSocket: (...upgrade) => void onRequest(...upgrade),
    onUnreadable,
    use: {
      busy: () => new Set([...active].map(({ request }) => request.socket)),
      isTrusted: (socket) => trusted.has(socket),
    },
  };
  const listener = await listen(listenOptions);
  const { port } = listener;
  gate = createGate({ ...options, port, keys: issued?.keys, isOwners: (socket) => owners.has(socket) });
  const onConnection = (socket: Socket) => owners.add(socket);
  const listenAt = (path: string) => listen({ ...listenOptions, path, onConnection });
  const opened = door && (await openDoor({ ...door, port, listenAt, log }));
  const removeStats = options.metrics?.addServer(() => ({
    requests: [...active].filter(({ notes, isInternal }) => !isInternal && notes.route !== METRICS_PATH).length,
  }));
  const watch = issued && watchRevoked(issued.keys, active, sockets);

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    async close(graceMs = limits.drainMs) {
      isDraining = true;
      for (const exchange of active) if (exchange.isInternal) exchange.cancel(shuttingDown());
      sockets.leave();
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
        if (active.size === 0) resolve();
      });
      await within(idle, graceMs, () => {
        for (const exchange of active) exchange.cancel(shuttingDown());
      });
      if (active.size > 0) await within(idle, LAST_WORDS_MS);
      clearInterval(watch);
      removeStats?.();
      sockets.terminate();
      // First, so that nobody else has the port while the door is open.
      await opened?.close();
      await listener.close();
    },
  };
}

/** Ends what a key does once it is revoked. */
const watchRevoked = (keys: KnownKeys, active: ReadonlySet<Exchange>, sockets: Sockets): NodeJS.Timeout =>
  setInterval(() => {
    const ids = keys.ids();
    const isRevoked = ({ id }: Principal) => isIssued(id) && !ids.has(id);
    cancelRevoked(active, isRevoked);
    sockets.revoke(isRevoked);
  }, WATCH_MS).unref();

/** Returns the name of the key that a request came with, for people. */
function keyNameOf({ id, token }: Principal, keys: KnownKeys | undefined): string {
  if (token) return "token";
  return keys?.withId(id)?.name ?? id;
}

function tracedRequest({ id: requestId, request }: Exchange, { id: principalId }: Principal): TracedRequest {
  const { traceparent, tracestate } = request.headers;
  const textOf = (value: string | string[] | undefined) => (typeof value === "string" ? value : undefined);
  return { requestId, principalId, traceparent: textOf(traceparent), tracestate: textOf(tracestate) };
}
