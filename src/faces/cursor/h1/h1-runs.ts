import { BoundedMap } from "../../../core/bounded-map.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { Principal } from "../../../core/turn.ts";
import type { Append } from "../../../wire/agent/bidi-append.ts";
import { Rendezvous } from "../../../wire/agent/rendezvous.ts";
import { streamFormat } from "../../../wire/connect/frame-writer.ts";
import type { ServerExchange } from "../../../wire/http/server-exchange.ts";
import { RELAY, type Verdict } from "../decide-run.ts";
import { type RunOpening, readOpening } from "../find-model.ts";
import { type Backend, type Held, type OnOwnCall, relay } from "../relay.ts";
import { refusesType, StreamPeer } from "../stream-peer.ts";
import { endWith, openEarly, relayIntoOpen } from "./h1-download.ts";
import { MAX_APPEND_BYTES, MAX_DOWNLOAD_BYTES, readHeld, readRequestId, readUpload } from "./h1-requests.ts";

/** Some clients send append 0 only after they have the headers of RunSSE, so these go out after this long. */
const HEADERS_AFTER_MS = 100;

/** A run whose append 0 does not come is passed on after this long. */
const FIRST_APPEND_MS = 30_000;

/** A run that nobody asks for is forgotten after this long. */
const IDLE_MS = 30_000;
const MAX_ROOMS = 10_000;
/** Clients send UUIDs. */
const MAX_ID = 128;

interface Room {
  /** Settles with append 0. */
  readonly verdict: Promise<Verdict>;
  settle(verdict: Verdict): void;
  /** The verdict, once it is there. */
  known: Verdict | undefined;
  /** Append 0 is here, and the verdict is being found. */
  isOpened: boolean;
  /** The calls of the run that are under way. */
  calls: number;
  idle: NodeJS.Timeout | undefined;
}

export interface Http1RunsOptions {
  /** The backend for this request. Throws if the caller has no login for it. */
  readonly backendFor: (exchange: ServerExchange) => Promise<Backend>;
  readonly decide: (exchange: ServerExchange, opening: RunOpening | undefined) => Promise<Verdict>;
  readonly principalOf: (exchange: ServerExchange) => Promise<Principal | undefined>;
  readonly onOwnCall?: OnOwnCall | undefined;
  readonly serve: (peer: StreamPeer, model: string, exchange: ServerExchange) => void;
  /** How long either half of a run waits for the other. Default: 30 s. */
  readonly firstAppendMs?: number | undefined;
}

/**
 * Runs over HTTP/1.1: the download (RunSSE) and the uploads (BidiAppend) come on different sockets, in any order. Append 0
 * names the model, and so decides whether both go to the backend or to us.
 */
export class Http1Runs {
  readonly #options: Http1RunsOptions;
  readonly #rooms = new BoundedMap<string, Room>(MAX_ROOMS, { isBusy: ({ calls }) => calls > 0 });
  readonly #uploads = new Rendezvous<ExcursorError>();
  readonly #patienceMs: number;

  constructor(options: Http1RunsOptions) {
    this.#options = options;
    this.#patienceMs = options.firstAppendMs ?? FIRST_APPEND_MS;
  }

  async append(exchange: ServerExchange): Promise<void> {
    const id = exchange.header("x-request-id");
    const isRelayed = id !== undefined && this.#rooms.get(id)?.known?.type === "relay";
    const held = isRelayed ? undefined : await readHeld(exchange, MAX_APPEND_BYTES);
    const append = held && (await readUpload(exchange, held));
    if (!held || !append || append.requestId.length > MAX_ID) {
      relay(exchange, await this.#options.backendFor(exchange), held);
      return;
    }
    const isOurs = await this.#take(append, exchange);
    if (exchange.isOver) return;
    if (!isOurs) {
      relay(exchange, await this.#options.backendFor(exchange), held);
      return;
    }
    this.#options.onOwnCall?.(exchange, held, append.requestId);
    exchange.respond(200, "", { "content-type": "application/proto" });
  }

  /** A download in one stream, or (`poll`) in pieces. */
  async download(exchange: ServerExchange, kind: "stream" | "poll" = "stream"): Promise<void> {
    const held = await readHeld(exchange, MAX_DOWNLOAD_BYTES);
    const requestId = held?.isWhole ? readRequestId(exchange, held, kind) : undefined;
    if (!held || requestId === undefined || requestId.length > MAX_ID) {
      if (held) relay(exchange, await this.#options.backendFor(exchange), held);
      return;
    }
    const room = this.#room(requestId, exchange);
    await Promise.race([room.verdict, after(HEADERS_AFTER_MS, exchange)]);
    if (!room.known && !exchange.isOver && streamFormat(exchange.header("content-type"))) openEarly(exchange);
    const verdict = await this.#awaitVerdict(room, exchange);
    if (exchange.isOver) return;
    room.settle(verdict);
    if (verdict.type === "own") this.#options.onOwnCall?.(exchange, held, requestId);
    if (verdict.type === "own") exchange.release();
    if (verdict.type === "refused") endWith(exchange, verdict.error);
    else if (verdict.type === "own" && kind === "poll") endWith(exchange, notPolled());
    else if (verdict.type === "own" && !refusesType(exchange)) await this.#serve(exchange, requestId, verdict);
    else if (verdict.type === "relay") await this.#passOn(exchange, held);
  }

  /** Passes a download on, whether its headers are out or not. */
  async #passOn(exchange: ServerExchange, held: Held): Promise<void> {
    try {
      const backend = await this.#options.backendFor(exchange);
      if (exchange.hasResponded) relayIntoOpen(exchange, backend, held);
      else relay(exchange, backend, held);
    } catch (error) {
      endWith(exchange, ExcursorError.from(error));
    }
  }

  async #serve(
    exchange: ServerExchange,
    requestId: string,
    { model, principal }: Extract<Verdict, { type: "own" }>,
  ): Promise<void> {
    const caller = await this.#options.principalOf(exchange);
    if (caller?.id !== principal.id) {
      endWith(exchange, notYours());
      return;
    }
    const peer = new StreamPeer(exchange, { requestId, principal }, (receive) =>
      this.#uploads.join(requestId, { receive, stop: (error) => peer.revoke(error) }),
    );
    exchange.onOver(() => this.#uploads.leave(requestId));
    this.#options.serve(peer, model, exchange);
  }

  /** Returns false if the append is the backend's. */
  async #take(append: Append, exchange: ServerExchange): Promise<boolean> {
    const verdict = await this.#verdictOf(append, exchange);
    if (verdict.type === "relay") return false;
    // A refusal is told by the download, where clients show it.
    if (verdict.type === "refused" || exchange.isOver) return true;
    const caller = await this.#options.principalOf(exchange);
    if (caller?.id !== verdict.principal.id) throw notYours();
    if (this.#uploads.append(append)) return true;
    throw new ExcursorError("too-large", "Too many messages of this run wait to be read.");
  }

  async #verdictOf(append: Append, exchange: ServerExchange): Promise<Verdict> {
    const room = this.#room(append.requestId, exchange);
    if (room.known) return room.known;
    if (append.seqno === 0n && !room.isOpened) {
      room.isOpened = true;
      room.settle(await this.#options.decide(exchange, openingOf(append.payload)));
      return room.verdict;
    }
    return this.#awaitVerdict(room, exchange);
  }

  /** Waits for append 0. A run without one is the backend's to refuse. */
  #awaitVerdict(room: Room, exchange: ServerExchange): Promise<Verdict> {
    return Promise.race([room.verdict, after(this.#patienceMs, exchange).then(() => RELAY)]);
  }

  /** Returns the room of a run, for as long as this call of it is under way and a while longer. */
  #room(requestId: string, exchange: ServerExchange): Room {
    const room = this.#rooms.get(requestId) ?? this.#open(requestId);
    clearTimeout(room.idle);
    room.calls++;
    exchange.onOver(() => {
      room.calls--;
      if (room.calls === 0) room.idle = setTimeout(() => this.#forget(requestId, room), IDLE_MS).unref();
    });
    return room;
  }

  #open(requestId: string): Room {
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const room: Room = {
      verdict: promise,
      known: undefined,
      isOpened: false,
      calls: 0,
      idle: undefined,
      settle(verdict) {
        room.known ??= verdict;
        resolve(room.known);
      },
    };
    this.#rooms.set(requestId, room);
    return room;
  }

  #forget(requestId: string, room: Room): void {
    if (room.calls > 0 || this.#rooms.get(requestId) !== room) return;
    this.#rooms.delete(requestId);
    this.#uploads.forget(requestId);
  }
}

/** What cannot be read is the backend's to refuse. */
function openingOf(payload: Uint8Array): RunOpening | undefined {
  try {
    const opening = readOpening(payload);
    return opening.type === "run" ? opening : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves after some time, or when the exchange is over. */
function after(ms: number, exchange: ServerExchange): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    exchange.onOver(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const notYours = (): ExcursorError =>
  new ExcursorError("forbidden", "This run belongs to another caller.", { hint: null });

/** No known client polls, so nothing is known of what it would need. */
const notPolled = (): ExcursorError =>
  new ExcursorError("unsupported", "Runs of your own models cannot be polled (RunPoll).", {
    hint: "Let the client use HTTP/2, or HTTP/1.1 without a proxy that holds streams back.",
  });
