import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Limits } from "../config/settings.ts";
import { ExcursorError } from "../core/errors.ts";
import { isLoop } from "../core/hops.ts";
import type { Secret } from "../core/secret.ts";
import type { Principal } from "../core/turn.ts";
import type { FaceContext, FaceModules } from "../faces/shared/face-module.ts";
import type { Log } from "../observe/log.ts";
import type { Redactor } from "../observe/redactor.ts";
import { Exchange } from "./exchange.ts";
import { BodyBudget } from "./gate/body-budget.ts";
import { Cors } from "./gate/cors.ts";
import { takeCredentials } from "./gate/face-credentials.ts";
import { createGate, type Gate } from "./gate/gate.ts";
import { hopsOf } from "./gate/hops-of.ts";
import { KeyAllowance, type TokenLedger } from "./gate/key-allowance.ts";
import { isIssued, type KnownKeys } from "./gate/known-keys.ts";
import { Newcomers } from "./gate/newcomers.ts";
import { allowReading, answerPreflight, type PageAccess } from "./gate/page-access.ts";
import { createPathGuard } from "./gate/path-secret.ts";
import { checkBind } from "./gate/public-bind.ts";
import { Seats } from "./gate/seats.ts";
import { listen } from "./listener.ts";
import { logRequest } from "./log-request.ts";
import { Refusal } from "./refusal.ts";
import type { Answerer } from "./routes/answer-route.ts";
import { faceRoutes } from "./routes/face-routes.ts";
import { healthRoutes } from "./routes/health-routes.ts";
import { answersRoute, Questions } from "./routes/questions.ts";
import { createRouter, type Route } from "./routes/route.ts";

export interface GatewayOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly key: Secret;
  readonly allowsTokens: boolean;
  /** What comes through a tunnel must have this before its path. */
  readonly pathSecret?: Secret | undefined;
  /** What our own requests to other upstreams are known by: one that comes back is refused. */
  readonly hopId?: string | undefined;
  /** Keys that were given out beside the owner's, and what they may use. */
  readonly issued?: IssuedKeys | undefined;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** The listener is for one page, and for programs of the same user. */
  readonly page?: PageAccess | undefined;
  readonly limits: Limits;
  readonly engine: Answerer;
  /** What this listener speaks. */
  readonly faces: FaceModules;
  /** What each face is mounted with. */
  readonly faceContext: FaceContext;
  /** Has the backend look at a Cursor token that came with a request; throws what it says. */
  readonly verifyToken?: ((principal: Principal, signal: AbortSignal) => Promise<void>) | undefined;
  readonly log: Log;
  readonly redactor: Redactor;
}

interface IssuedKeys {
  readonly keys: KnownKeys;
  readonly ledger: TokenLedger;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, lets answers finish for so long, ends the others with an error, and closes. */
  close(graceMs?: number): Promise<void>;
}

/** What a client that was told of the end may still take to read it. */
const LAST_WORDS_MS = 1000;

const REVOCATION_MS = 1000;

/** Starts the gateway. A listener beyond loopback needs a key that cannot be guessed. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, limits, engine, faces, faceContext, log, redactor, issued, page } = options;
  const allowance = issued && new KeyAllowance(issued);
  checkBind(host, options.key);
  const active = new Set<Exchange>();
  /** Connections that somebody with a key, or a token that was accepted, has used. */
  const trusted = new WeakSet<Socket>();
  const requests = new Seats("requests", limits.requestsPerKey);
  const newcomers = new Newcomers({
    maxRequests: limits.unverifiedRequests,
    maxBodyBytes: limits.unverifiedBodyBytes,
    verify: options.verifyToken,
  });
  const bodies = BodyBudget.within(limits);
  const streams = new Seats("streamed answers", limits.streamsPerKey, (id) => allowance?.streamsOf(id));
  // The bridge has its own way to ask.
  const questions = page ? undefined : new Questions();
  let isDraining = false;
  let onIdle = () => {};
  const routes: readonly Route[] = [
    ...healthRoutes(faces[0], () => !isDraining),
    ...faces.flatMap((face) =>
      faceRoutes(face, faceContext, {
        engine,
        limits,
        streams,
        questions,
        log,
        meterOf: (principalId, inputTokens) => allowance?.meterOf(principalId, inputTokens),
      }),
    ),
    ...(questions ? [answersRoute(questions, faces[0], limits)] : []),
  ];

  const findRoute = createRouter(routes);
  /** Returns the face for a request that no route is for. */
  const faceFor = ({ headers }: IncomingMessage) => faces.find((face) => face.isSpokenBy?.(headers)) ?? faces[0];
  const redact = (text: string) => redactor.redact(text);
  const letIn = createPathGuard(options.pathSecret);
  const cors = new Cors(options.origins);

  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const exchange = new Exchange({ request, response, redact, bodies });
    const isLetIn = letIn(request);
    const match = isLetIn ? findRoute(request) : ({ type: "none" } as const);
    const face = match.type === "found" ? match.route.face : match.type === "none" ? faceFor(request) : match.face;
    const keys = takeCredentials(request, face.credentials);
    active.add(exchange);
    // What a write to a dead connection says is known from its close.
    response.on("error", () => {});
    let leave = () => {};
    response.on("close", () => {
      active.delete(exchange);
      leave();
      exchange.newcomer?.leave();
      logRequest(log, exchange);
      if (active.size === 0) onIdle();
    });
    try {
      if (!isLetIn) throw noSuchRoute();
      cors.allowReading(request, response);
      if (cors.isPreflight(request)) {
        gate(request, true);
        cors.answerPreflight(request, response);
        return;
      }
      if (page) allowReading(request, response, page);
      if (page && request.method === "OPTIONS") {
        gate(request, true);
        answerPreflight(request, response, page);
        return;
      }
      const isOpen = match.type === "found" && match.route.isOpen === true;
      const principal = gate(request, isOpen, keys);
      exchange.principal = principal;
      if (match.type === "wrong-method") throw wrongMethod(match.allow);
      if (match.type === "none") throw noSuchRoute();
      exchange.notes.route = match.route.path;
      if (options.hopId !== undefined && isLoop(hopsOf(request), options.hopId)) throw loop();
      if (isDraining && !isOpen) throw shuttingDown();
      if (principal) leave = requests.take(principal.id);
      if (principal?.token && !isOpen) exchange.newcomer = newcomers.admit(principal);
      if (principal && exchange.newcomer) exchange.principal = { ...principal, isUnverified: true };
      if (principal && !isOpen) allowance?.admit(principal.id);
      if (principal && !exchange.newcomer) trusted.add(request.socket);
      if (principal?.token) redactor.add(principal.token.reveal(), "caller");
      await match.route.handle(exchange, match.parameters);
    } catch (error) {
      if (!request.complete) discardBody(request, response, limits);
      exchange.fail(error, face);
      const { principal, notes } = exchange;
      if (principal?.token && notes.error?.kind === "unauthenticated") newcomers.refuse(principal);
    }
  };

  // It needs to know the port; nobody passes before it is there.
  let gate: Gate = () => {
    throw new Refusal(503, "busy", "The gateway is starting.");
  };
  const listener = await listen({
    host,
    port: options.port,
    limits,
    onRequest: (...pair) => void onRequest(...pair),
    use: {
      busy: () => new Set([...active].map(({ request }) => request.socket)),
      isTrusted: (socket) => trusted.has(socket),
    },
  });
  const { port } = listener;
  gate = createGate({ ...options, port, keys: issued?.keys });
  const revocation = issued && setInterval(() => cancelRevoked(active, issued.keys), REVOCATION_MS).unref();

  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    async close(graceMs = limits.drainMs) {
      isDraining = true;
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
        if (active.size === 0) resolve();
      });
      if (!(await within(idle, graceMs))) {
        for (const exchange of active) exchange.cancel(shuttingDown());
        await within(idle, LAST_WORDS_MS);
      }
      clearInterval(revocation);
      await listener.close();
    },
  };
}

/** New requests of a revoked key are refused at once; those under way end with the next look. */
function cancelRevoked(active: Iterable<Exchange>, keys: KnownKeys): void {
  for (const exchange of active) {
    const { principal } = exchange;
    if (principal && isIssued(principal.id) && !keys.withId(principal.id)) exchange.cancel(revoked());
  }
}

async function within(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A client may go on sending what was refused, and would see a broken connection instead of the answer if nobody read
 * it. So it is read and thrown away, as much as would have been allowed.
 */
function discardBody(request: IncomingMessage, response: ServerResponse, { bodyBytes }: Limits): void {
  // Whether one that asked for leave sends the body now is its own choice: the next bytes could mean anything.
  if (request.headers.expect !== undefined) response.shouldKeepAlive = false;
  let left = bodyBytes;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
}

const wrongMethod = (allow: string) =>
  new Refusal(405, "invalid-request", `This path is for ${allow}.`, {
    code: "method_not_allowed",
    headers: { allow },
  });

const noSuchRoute = () =>
  new ExcursorError("not-found", "There is nothing at this path.", {
    code: "unknown_path",
    hint: "The base URL ends in /v1 for OpenAI's clients, and just before it for Anthropic's own.",
  });

const shuttingDown = () =>
  new Refusal(503, "busy", "The gateway is shutting down.", {
    code: "shutting_down",
    hint: "Try again in a moment.",
    headers: { connection: "close", "retry-after": "1" },
  });

const loop = () =>
  new Refusal(508, "config", "This request has been here before: a model entry of a gateway leads back to this one.", {
    code: "gateway_loop",
    hint: "Correct the address of that entry in the setting `models`.",
  });

const revoked = () =>
  new ExcursorError("unauthenticated", "The API key was revoked.", {
    code: "key_revoked",
    hint: null,
    retryable: false,
  });
