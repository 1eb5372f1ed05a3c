import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AgentClientMessageSchema } from "../../gen/agent/v1/run_pb.ts";
import { BidiRun } from "../../wire/bidi-run.ts";
import { type Caller, callHeaders } from "../../wire/headers.ts";
import type { HttpTransport } from "../../wire/http.ts";
import type { RunListener, RunStream } from "../../wire/run-stream.ts";
import { openSseRun } from "../../wire/sse-run.ts";
import type { Endpoint } from "./endpoint.ts";

export type ClientMessage = MessageInitShape<typeof AgentClientMessageSchema>["message"] & object;
/** A message, or an `AgentClientMessage` that is serialized already. */
export type Outgoing = ClientMessage | Uint8Array;

/** HTTP in both versions, each shared by all runs. */
export interface Transports {
  readonly h2: HttpTransport;
  readonly h1: HttpTransport;
}

const HEARTBEAT_MS = 5000;

/** One attempt at a run: the stream, its heartbeat, and messages instead of bytes on the way out. */
export class AgentStream {
  readonly #stream: RunStream;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(
    transports: Transports,
    endpoint: Endpoint,
    caller: Caller & { readonly requestId: string },
    listener: RunListener,
    /** Another token for what is still to be sent, once this one is refused; undefined if there is none. */
    renewToken: () => Promise<string | undefined>,
  ) {
    const { requestId } = caller;
    const { origin, transport } = endpoint;
    const guarded: RunListener = {
      ...listener,
      done: (error, end) => {
        clearInterval(this.#heartbeat);
        listener.done(error, end);
      },
    };
    this.#heartbeat = setInterval(() => this.send({ case: "clientHeartbeat", value: {} }), HEARTBEAT_MS);
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
    this.#stream.send(
      message instanceof Uint8Array
        ? message
        : toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message })),
    );
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(): void {
    clearInterval(this.#heartbeat);
    this.#stream.cancel();
  }
}
