import type { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";

/** The client of one run of Cursor's agent protocol, whatever carries it (an HTTP/2 stream, or RunSSE with BidiAppend). */
export interface RunPeer {
  readonly requestId: string;
  /** The caller, who may use our models. */
  readonly principal: Principal;
  header(name: string): string | undefined;
  /** Starts delivery: client messages (`AgentClientMessage` bytes, unframed) in order, those that came before included. */
  listen(listener: {
    message(payload: Uint8Array): void;
    /** The client is gone, or cancelled. */
    gone(): void;
  }): void;
  /** Sends one `AgentServerMessage`. A promise means that the reader is behind; it never rejects. */
  send(payload: Uint8Array): Promise<void> | undefined;
  /** Ends the stream, once; with an error as the Connect error that Cursor's clients show (title and detail). */
  end(error?: ExcursorError): void;
}

/** Answers a run of one of our own models. `model` has no prefix. `listen` also delivers the run request. */
export type ServeRun = (peer: RunPeer, model: string) => void;
