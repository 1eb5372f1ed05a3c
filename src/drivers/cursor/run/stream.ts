import { type Caller, callHeaders } from "../../../wire/agent/headers.ts";
import { CLIENT_HEARTBEAT, CLIENT_HEARTBEAT_MS } from "../../../wire/agent/heartbeat.ts";
import { type ClientMessage, encodeClientMessage } from "../../../wire/agent/messages.ts";
import { BidiRun } from "../../../wire/connect/bidi-run.ts";
import type { RunListener, RunStream } from "../../../wire/connect/run-stream.ts";
import { openSseRun } from "../../../wire/connect/sse-run.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";
import type { Endpoint } from "../account/endpoint.ts";

/** A message, or an `AgentClientMessage` that is serialized already. */
export type Outgoing = ClientMessage | Uint8Array;

/** HTTP in both versions, each shared by all runs. */
export interface Transports {
  readonly h2: HttpTransport;
  readonly h1: HttpTransport;
}

/** How long the backend may take to end a stream that we are done with. */
const FAREWELL_MS = 2000;

/** One attempt at a run: the stream, its heartbeat, and messages instead of bytes on the way out. */
export class AgentStream {
  readonly #stream: RunStream;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #takeFarewell: () => (() => void) | undefined;
  /** The backend has accepted it, so it hears what is said on it. */
  #isOpen = false;
  #isOver = false;
  #farewell: NodeJS.Timeout | undefined;
  #endFarewell: (() => void) | undefined;

  constructor(
    transports: Transports,
    endpoint: Endpoint,
    caller: Caller & { readonly requestId: string },
    listener: RunListener,
    /** Another token for what is still to be sent, once this one is refused; undefined if there is none. */
    renewToken: () => Promise<string | undefined>,
    /** See {@link Farewells.take}. */
    takeFarewell: () => (() => void) | undefined,
  ) {
    const { requestId } = caller;
    const { origin, transport } = endpoint;
    this.#takeFarewell = takeFarewell;
    const guarded: RunListener = {
      ...listener,
      open: () => {
        this.#isOpen = true;
      },
      done: (error, end) => {
        this.#settle();
        listener.done(error, end);
      },
    };
    this.#heartbeat = setInterval(() => this.send(CLIENT_HEARTBEAT), CLIENT_HEARTBEAT_MS);
    this.#stream =
      transport === "h2"
        ? new BidiRun({ transport: transports.h2, origin, headers: callHeaders("run", caller), listener: guarded })
        : openSseRun({
            transport: transports.h1,
            origin,
            requestId,
            headers: callHeaders("run-sse", caller),
            appendHeaders: callHeaders("append", caller),
            renewAppendHeaders: async () => {
              const token = await renewToken();
              return token === undefined ? undefined : callHeaders("append", { ...caller, token });
            },
            listener: guarded,
          });
  }

  send(message: Outgoing): void {
    this.#stream.send(message instanceof Uint8Array ? message : encodeClientMessage(message));
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /**
   * Cancels the turn in the protocol's own words and lets the backend end the stream; what it sends until then still
   * comes. It is reset only where that does not work: a peer may cut a connection that resets too many streams.
   */
  cancel(): void {
    if (this.#mayWait()) {
      this.send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
      this.#resetAfter(FAREWELL_MS);
    } else {
      this.#reset();
    }
  }

  /** The turn is over, but the backend has not ended the stream: closes our half, and gives it time to do the same. */
  hangUp(): void {
    if (this.#mayWait()) {
      this.#stream.closeSend();
      this.#resetAfter(FAREWELL_MS);
    } else {
      this.#reset();
    }
  }

  #mayWait(): boolean {
    if (!this.#isOpen || this.#isOver) return false;
    this.#endFarewell ??= this.#takeFarewell();
    return this.#endFarewell !== undefined;
  }

  #resetAfter(delayMs: number): void {
    // A paused stream would never come to its end.
    this.#stream.resume();
    if (!this.#isOver) this.#farewell = setTimeout(() => this.#reset(), delayMs).unref();
  }

  #reset(): void {
    this.#settle();
    this.#stream.cancel();
  }

  #settle(): void {
    this.#isOver = true;
    this.#endFarewell?.();
    this.#endFarewell = undefined;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#farewell);
  }
}
