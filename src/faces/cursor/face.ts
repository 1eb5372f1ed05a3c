import type { Awaitable } from "../../core/awaitable.ts";
import type { ModelInfo } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { findStartCall } from "../../wire/agent/start-calls.ts";
import { UnknownCalls } from "../../wire/agent/unknown-calls.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { Callers, type GatewayKeys, invalidToken, type SignedInAccounts } from "./callers.ts";
import { ConversationNames, type KnownMessages } from "./conversation-names.ts";
import { decideRun, needsAccount, type Verdict } from "./decide-run.ts";
import { respondError } from "./errors.ts";
import { FaceTokens } from "./face-tokens.ts";
import { OWN_PREFIX, type RunOpening } from "./find-model.ts";
import { readHeld } from "./h1/h1-requests.ts";
import { Http1Runs } from "./h1/h1-runs.ts";
import { deliverMessages, holdRun, requestIdOf } from "./h2-run.ts";
import { FACE_HEALTH_PATH } from "./health-path.ts";
import { answerKeyHolder, type KeyHolder, startCallerOf } from "./key-holder-responses.ts";
import { isFramed, MODEL_LISTS, type ModelList, wantsJson } from "./models.ts";
import { type Backend, type Held, type OnOwnCall, relay } from "./relay.ts";
import type { ServeRun } from "./run-peer.ts";
import { ServerConfigs } from "./server-config.ts";
import { refusesType, StreamPeer } from "./stream-peer.ts";
import { callWhole } from "./whole-call.ts";

export interface CursorFaceOptions {
  readonly backend: Backend;
  readonly keys: GatewayKeys;
  readonly accounts: SignedInAccounts;
  /** Admits the call of a known caller, or throws. `isCounted` is false for calls that ask nothing of a model. */
  readonly seat: (principal: Principal, isCounted: boolean) => CallSeat;
  /** Answers the runs of our own models. */
  readonly serveRun: ServeRun;
  /** Our own models, without the prefix. */
  readonly listModels: (principal: Principal, signal: AbortSignal) => Promise<readonly ModelInfo[]>;
  /** Whether a name, without the prefix, is that of a model of ours. */
  readonly isOwnModel: (model: string) => boolean;
  /** Returns the origin of a host for agent calls that may get a caller's token. Default: Cursor's own hosts. */
  readonly trustedOrigin?: ((url: string) => string | undefined) | undefined;
  /** Returns the error for a token or key of ours that is not valid, and counts it. Default: {@link invalidToken}. */
  readonly refuseToken?: ((exchange: ServerExchange, token: string) => ExcursorError) | undefined;
  /** Called with each call that we answer, or whose answer we change, before its body is read further. */
  readonly onOwnCall?: OnOwnCall | undefined;
  /** Signs the face's tokens. */
  readonly tokenSecret: Secret;
  /** How long either half of such a run waits for the other. Default: 30 s. */
  readonly firstAppendMs?: number | undefined;
  /** True if a balancer should send no more calls here. */
  readonly isDraining?: (() => boolean) | undefined;
  /** The messages that opened runs of our own models. Absent: they are kept in memory. */
  readonly messages?: KnownMessages | undefined;
  /** Told of each call of a key's holder that no list names, once. It gets an empty message. */
  readonly onUnknownCall?: ((path: string) => void) | undefined;
  /** Told of errors that are bugs of ours. */
  readonly onBug: (error: unknown) => void;
}

/** What a call holds of its caller's limits. */
interface CallSeat {
  /** Rejects if the call is one too many. */
  readonly admitted: Awaitable<void>;
  /** Throws if no stream is free. */
  takeStream(): void;
  leave(): void;
}

/** Answers the clients of Cursor's backend: with our own models, and else by passing their calls on to it. */
export interface CursorFace {
  answer(exchange: ServerExchange): void;
  /** Ends the runs of our own models with an error. */
  endRuns(error: ExcursorError): void;
  close(): void;
}

const RUN = "POST /agent.v1.AgentService/Run";
const RUN_SSE = "POST /agent.v1.AgentService/RunSSE";
const RUN_POLL = "POST /agent.v1.AgentService/RunPoll";
const RUNS: ReadonlySet<string> = new Set([RUN, RUN_SSE, RUN_POLL]);
const APPEND = "POST /aiserver.v1.BidiService/BidiAppend";
const EXCHANGE = "POST /auth/exchange_user_api_key";
const REFRESH = "POST /oauth/token";

/** With the 250 ms in which a gateway learns of a revocation, a run ends within a second of it. */
const REVOCATION_MS = 250;

export function createCursorFace(options: CursorFaceOptions): CursorFace {
  const { backend, serveRun, onBug, refuseToken = invalidToken } = options;
  const callers = new Callers(options);
  const configs = new ServerConfigs(backend, options.trustedOrigin);
  const live = new Map<StreamPeer, ServerExchange>();
  const unknownCalls = new UnknownCalls(options.onUnknownCall ?? (() => {}));
  const tellOwn = (exchange: ServerExchange, held: Held = UNREAD) =>
    options.onOwnCall?.(exchange, held, requestIdOf(exchange));

  const seats = new WeakMap<ServerExchange, CallSeat>();
  /** Takes the seat of a call whose caller is known, for as long as it is under way. */
  const seat = async (exchange: ServerExchange, principal: Principal, isCounted = true): Promise<CallSeat> => {
    const taken = seats.get(exchange) ?? options.seat(principal, isCounted);
    seats.set(exchange, taken);
    if (exchange.isOver) taken.leave();
    else exchange.onOver(() => taken.leave());
    await taken.admitted;
    return taken;
  };

  const serve = (peer: StreamPeer, model: string, exchange: ServerExchange): void => {
    live.set(peer, exchange);
    exchange.onOver(() => live.delete(peer));
    seat(exchange, peer.principal)
      .then((taken) => taken.takeStream())
      .then(() => serveRun(peer, model))
      .catch((error) => peer.revoke(ExcursorError.from(error)));
  };
  const names = new ConversationNames(options.messages);
  const decide = async (asker: ServerExchange, opening: RunOpening | undefined): Promise<Verdict> => {
    const verdict = await decideRun(asker, opening?.model, { ...options, callers });
    if (verdict.type === "own" && opening) names.add(opening.payload);
    return verdict;
  };
  const http1 = new Http1Runs({
    async backendFor(exchange) {
      // The backend must not get our tokens and keys.
      if (callers.identify(exchange).type !== "cursor") throw needsAccount(`The call ${exchange.path}`);
      return configs.backendFor(exchange);
    },
    decide,
    principalOf: (asker) => callers.principalOf(asker),
    onOwnCall: options.onOwnCall,
    serve,
    firstAppendMs: options.firstAppendMs,
  });

  /** A key that is revoked ends its runs as well. */
  const revocation = setInterval(() => {
    for (const [peer, exchange] of live) {
      if (callers.identify(exchange).type === "refused") peer.revoke(invalidToken());
    }
  }, REVOCATION_MS).unref();

  const answerRun = async (exchange: ServerExchange): Promise<void> => {
    const run = await holdRun(exchange);
    if (!run) return;
    const verdict = await decide(exchange, run.opening);
    if (verdict.type === "relay") relay(exchange, await configs.backendFor(exchange), run.held);
    else if (verdict.type === "refused") respondError(exchange, verdict.error);
    else if (!refusesType(exchange)) {
      const peer = peerOf(exchange, run.held, verdict.principal);
      options.onOwnCall?.(exchange, run.held, peer.requestId);
      serve(peer, verdict.model, exchange);
    }
  };

  const answerName = async (exchange: ServerExchange): Promise<void> => {
    const held = await readHeld(exchange, MAX_SMALL_REQUEST_BYTES);
    if (!held) return;
    const isJson = wantsJson(exchange);
    const named = held.isWhole ? await names.answer(Buffer.concat(held.chunks), isJson) : undefined;
    if (named) tellOwn(exchange, held);
    if (named) exchange.respond(200, named, { "content-type": isJson ? "application/json" : "application/proto" });
    else relay(exchange, await configs.backendFor(exchange), held);
  };

  const modelsOf = async (exchange: ServerExchange, principal?: Principal): Promise<readonly ModelInfo[]> => {
    if (!principal) return [];
    await seat(exchange, principal);
    return options.listModels(principal, AbortSignal.timeout(LIST_TIMEOUT_MS));
  };

  const answerList = async (exchange: ServerExchange, list: ModelList): Promise<void> => {
    const isJson = wantsJson(exchange);
    const ownModels = async () => modelsOf(exchange, await callers.principalOf(exchange));
    if (callers.identify(exchange).type === "key") {
      await exchange.readBody(MAX_SMALL_REQUEST_BYTES);
      const type = isJson ? "application/json" : "application/proto";
      exchange.respond(200, list.alone(await ownModels(), isJson), { "content-type": type });
      return;
    }
    // The backend's list is worth more than ours: without ours it is passed on as it is.
    const [answer, models] = await Promise.all([callWhole(exchange, backend), ownModels().catch(() => [])]);
    answer.respond(answer.status === 200 && models.length > 0 ? list.add(answer.body, models, isJson) : undefined);
  };

  const answerKey = async (exchange: ServerExchange, principal: Principal, isExchange: boolean): Promise<void> => {
    const { tokens } = callers;
    const defaultModel = async () => OWN_PREFIX + ((await modelsOf(exchange, principal))[0]?.id ?? "");
    const holder: KeyHolder = { principal, tokens, defaultModel };
    if (!isExchange) return answerKeyHolder(exchange, holder, unknownCalls);
    const token = tokens.issue(principal.id);
    exchange.respondJson(200, { accessToken: token, refreshToken: token, authId: startCallerOf(holder).authId });
  };

  /** A refresh token comes in the body. One of ours must not reach the backend. */
  const answerRefresh = async (exchange: ServerExchange): Promise<void> => {
    const held = await readHeld(exchange, MAX_SMALL_REQUEST_BYTES);
    if (!held) return;
    const token = held.isWhole ? FaceTokens.findIn(Buffer.concat(held.chunks).toString("latin1")) : undefined;
    if (token === undefined) return relay(exchange, backend, held);
    tellOwn(exchange, held);
    const id = callers.tokens.read(token);
    const principal = id === undefined ? undefined : options.keys.holderWithId(id);
    const fresh = principal ? callers.tokens.issue(principal.id) : "";
    exchange.respondJson(200, { access_token: fresh, id_token: fresh, shouldLogout: !principal });
  };

  const route = async (exchange: ServerExchange): Promise<void> => {
    const key = `${exchange.method} ${exchange.path}`;
    if (key === `GET ${FACE_HEALTH_PATH}`) {
      const isDraining = options.isDraining?.() === true;
      exchange.respondJson(isDraining ? 503 : 200, { status: isDraining ? "draining" : "ok", face: "cursor" });
      return;
    }
    const caller = callers.identify(exchange);
    if (caller.type === "refused") throw refuseToken(exchange, caller.given);
    exchange.sender = callers.senderOf(exchange, caller);
    const list = isFramed(exchange) ? undefined : MODEL_LISTS.get(key);
    if (caller.type === "key") await seat(exchange, caller.principal, list !== undefined || RUNS.has(key));
    if (key === RUN && exchange.transport === "h2") return answerRun(exchange);
    if (key === RUN_SSE) return http1.download(exchange);
    if (key === RUN_POLL) return http1.download(exchange, "poll");
    if (key === APPEND) return http1.append(exchange);
    if (list || caller.type === "key") tellOwn(exchange);
    if (list) return answerList(exchange, list);
    if (caller.type === "key") return answerKey(exchange, caller.principal, key === EXCHANGE);
    const treatment = findStartCall(exchange.method, exchange.path)?.forAccount;
    if (treatment === "without-hosts" && !isFramed(exchange)) return configs.answer(exchange);
    if (treatment === "named-here" && !isFramed(exchange)) return answerName(exchange);
    if (key === REFRESH) return answerRefresh(exchange);
    relay(exchange, await configs.backendFor(exchange));
  };

  return {
    answer(exchange) {
      route(exchange).catch((thrown) => {
        if (exchange.isOver) return;
        const error = ExcursorError.from(thrown);
        if (error.kind === "internal") onBug(thrown);
        exchange.request.resume();
        respondError(exchange, error);
      });
    },
    endRuns(error) {
      for (const peer of live.keys()) peer.revoke(error);
    },
    close: () => clearInterval(revocation),
  };
}

const UNREAD: Held = { chunks: [], isWhole: false };
const LIST_TIMEOUT_MS = 15_000;
const MAX_SMALL_REQUEST_BYTES = 1024 * 1024;

function peerOf(exchange: ServerExchange, held: Held, principal: Principal): StreamPeer {
  const peer = new StreamPeer(exchange, { requestId: requestIdOf(exchange), principal }, (receive) =>
    deliverMessages(exchange, held, receive, (error) => peer.revoke(error)),
  );
  return peer;
}
