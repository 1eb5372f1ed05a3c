import type { ServerResponse } from "node:http";
import { ExcursorError } from "../core/errors.ts";
import type { GatewayExchange } from "../server/gateway-exchange.ts";
import type { Session, Sessions } from "./sessions.ts";

/** At most four messages a second, whatever the load. */
const TICK_MS = 250;
/** A message after so long at the latest, so that a page notices a lost connection. */
const SILENCE_MS = 10_000;
/** A page that has not read for so long is disconnected. */
const STALLED_MS = 30_000;
/** A browser has six connections to a host. Each feed holds one, and the calls of the pages need the others. */
const FEEDS_PER_SESSION = 4;

interface Viewer {
  readonly session: Session;
  readonly response: ServerResponse;
  sentAt: number;
  sent: string;
}

export interface FeedOptions {
  readonly sessions: Sessions;
  readonly message: () => object;
  /** Called when a page opens the feed. Returns what to call when the page has left. */
  readonly attend?: () => () => void;
}

/**
 * Sends a message to all open pages when it has changed. The message is made once for all of them, and only while a page
 * is open. A page that reads slowly misses messages; they do not queue up.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #viewers = new Set<Viewer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** False while as many pages of a session as possible have a feed. */
  hasRoom(session: Session): boolean {
    return session.feeds < FEEDS_PER_SESSION;
  }

  /** Answers a request with the feed, until the page leaves, its session ends or the gateway stops. */
  open(exchange: FeedExchange, session: Session): void {
    const { response, signal } = exchange;
    // A page that has left already closes no second time, and would be counted for good.
    if (response.closed || response.destroyed) return;
    if (!this.hasRoom(session)) {
      throw new ExcursorError("too_many_feeds");
    }
    session.feeds++;
    const viewer: Viewer = { session, response, sentAt: performance.now(), sent: "" };
    this.#viewers.add(viewer);
    const leave = this.#options.attend?.();
    signal.addEventListener("abort", () => response.end(), { once: true });
    // A browser that closes its side does not read on, as other clients may.
    const { socket } = response;
    const leaves = () => response.destroy();
    socket?.once("end", leaves);
    response.once("close", () => {
      socket?.off("end", leaves);
      session.feeds--;
      this.#viewers.delete(viewer);
      leave?.();
      if (this.#viewers.size === 0) this.#stop();
    });
    response.writeHead(200, {
      ...exchange.commonHeaders(),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    this.#send(viewer, this.#data());
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    const data = this.#data();
    for (const viewer of this.#viewers) {
      if (this.#options.sessions.isLive(viewer.session)) this.#send(viewer, data);
      else viewer.response.end("event: over\ndata: {}\n\n");
    }
  }

  #data(): string {
    return `data: ${JSON.stringify(this.#options.message())}\n\n`;
  }

  #send(viewer: Viewer, data: string): void {
    const { response } = viewer;
    const silentMs = performance.now() - viewer.sentAt;
    if (response.writableNeedDrain) {
      if (silentMs > STALLED_MS) response.destroy();
      return;
    }
    if (data === viewer.sent && silentMs < SILENCE_MS) return;
    viewer.sent = data;
    viewer.sentAt = performance.now();
    response.write(data);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

type FeedExchange = Pick<GatewayExchange, "response" | "signal" | "commonHeaders">;
