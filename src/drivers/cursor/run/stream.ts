import { type Caller, callHeaders } from "../../../wire/agent/headers.ts";
import { CLIENT_HEARTBEAT, CLIENT_HEARTBEAT_MS } from "../../../wire/agent/heartbeat.ts";
import { type ClientMessage, encodeClientMessage } from "../../../wire/agent/messages.ts";
import { BidiRun } from "../../../wire/connect/bidi-run.ts";
import type { RunListener, RunStream } from "../../../wire/connect/run-stream.ts";
import { openSseRun } from "../../../wire/connect/sse-run.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";
import type { Endpoint } from "../account/endpoint.ts";

/** A message, or a serialized `AgentClientMessage`. */
export type Outgoing = ClientMessage | Uint8Array;

/** Both HTTP versions, shared by all runs. */
export interface Transports {
  readonly h2: HttpTransport;
  readonly h1: HttpTransport;
}

/** How long the backend may take to end an abandoned stream. */
const ENDING_MS = 2000;

/** One attempt at a run: the stream and its heartbeat. */
export class AgentStream {
  readonly #stream: RunStream;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #takeLate: () => (() => void) | undefined;
  /** True if the backend has accepted the stream, and so reads what is sent on it. */
  #isOpen = false;
  #isOver = false;
  #ending: NodeJS.Timeout | undefined;
  #endEnding: (() => void) | undefined;

  constructor(
    transports: Transports,
    endpoint: Endpoint,
    caller: Caller & { readonly requestId: string },
    listener: RunListener,
    /** Returns another token after a refusal, for messages still to be sent; undefined if there is none. */
    renewToken: () => Promise<string | undefined>,
    /** See {@link EndingStreams.take}. */
    takeEnding: () => (() => void) | undefined,
  ) {
    const { requestId } = caller;
    const { origin, transport } = endpoint;
    this.#takeLate = takeEnding;
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
   * Cancels the turn by a protocol message, and lets the backend end the stream. Its messages until then are still
   * delivered. A reset is the last resort, since a peer may close a connection with too many resets.
   */
  cancel(): void {
    if (this.#mayWait()) {
      this.send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
      this.#resetAfter(ENDING_MS);
    } else {
      this.#reset();
    }
  }

  /** Closes our half of a stream whose turn is over, and gives the backend time to close its own. */
  hangUp(): void {
    if (this.#mayWait()) {
      this.#stream.closeSend();
      this.#resetAfter(ENDING_MS);
    } else {
      this.#reset();
    }
  }

  #mayWait(): boolean {
    if (!this.#isOpen || this.#isOver) return false;
    this.#endEnding ??= this.#takeLate();
    return this.#endEnding !== undefined;
  }

  #resetAfter(delayMs: number): void {
    // A paused stream would never end.
    this.#stream.resume();
    if (!this.#isOver) this.#ending = setTimeout(() => this.#reset(), delayMs).unref();
  }

  #reset(): void {
    this.#settle();
    this.#stream.cancel();
  }

  #settle(): void {
    this.#isOver = true;
    this.#endEnding?.();
    this.#endEnding = undefined;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#ending);
  }
}
