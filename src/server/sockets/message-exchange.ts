import type { FaceModule, SocketDialect } from "../../faces/shared/face-module.ts";
import { Exchange, type ExchangeOptions, type Outcome } from "../gateway-exchange.ts";
import { Refusal } from "../refusal.ts";
import type { AnswerOutlet } from "../routes/turn-route.ts";
import type { SocketLink } from "./socket-link.ts";

export interface MessageExchangeOptions extends ExchangeOptions {
  readonly id: string;
  readonly link: SocketLink;
  readonly face: FaceModule;
  readonly dialect: SocketDialect;
}

/** One message of a client on a WebSocket, and the messages that answer it. */
export class MessageExchange extends Exchange {
  readonly method = "MESSAGE";
  readonly #link: SocketLink;
  readonly #face: FaceModule;
  readonly #dialect: SocketDialect;
  #status = 200;
  #isWhole = false;

  constructor(options: MessageExchangeOptions) {
    super(options, options.id);
    this.#link = options.link;
    this.#face = options.face;
    this.#dialect = options.dialect;
  }

  outcome(): Outcome {
    return this.outcomeWith(this.#status, this.#isWhole);
  }

  /** Opens the streamed answer. Each server-sent event becomes a message. */
  openStream(): AnswerOutlet {
    const link = this.#link;
    let hasBegun = false;
    const write = (piece: string | Uint8Array): boolean => {
      hasBegun = true;
      return link.sendEvents(String(piece));
    };
    return {
      hasComments: false,
      get hasBegun() {
        return hasBegun;
      },
      write,
      drained: () => link.drained(),
      end: (piece = "") => {
        write(piece);
        this.#isWhole = link.isOpen;
      },
      stop: () => {},
    };
  }

  /** Sends an error in the face's format. */
  fail(thrown: unknown): void {
    const error = this.errorFrom(thrown);
    this.notes.error = error;
    const answer = this.#face.error(error, this.id, error instanceof Refusal ? error.status : undefined);
    this.#status = answer.status;
    this.#link.send(this.redact(this.#dialect.error(answer, this.id)));
    this.#isWhole = this.#link.isOpen;
  }
}
