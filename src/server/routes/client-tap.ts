import type { Exchange } from "../gateway-exchange.ts";
import type { AnswerCarrier, AnswerOutlet } from "./turn-route.ts";

/** Sees the turns of clients and their answers, in the clients' own API. */
export interface ClientTap {
  open(exchange: Exchange, body: unknown): TappedTurn;
}

export interface TappedTurn {
  /** The answer begins. */
  begin(contentType: string): void;
  /** A part of the answer's body. */
  piece(piece: string | Uint8Array): void;
  /** `ok`, or the code of the error. */
  end(outcome: string): void;
}

/** Wraps a carrier, so that the tap sees what goes out. */
export function tapCarrier(carrier: AnswerCarrier, turn: TappedTurn): AnswerCarrier {
  return {
    openStream(headers, form) {
      turn.begin(form.contentType ?? "text/event-stream");
      return tapOutlet(carrier.openStream(headers, form), turn);
    },
    ...(carrier.reply && {
      reply(body, headers) {
        turn.begin("application/json");
        turn.piece(JSON.stringify(body));
        carrier.reply?.(body, headers);
      },
    }),
  };
}

const tapOutlet = (outlet: AnswerOutlet, turn: TappedTurn): AnswerOutlet => ({
  hasComments: outlet.hasComments,
  get hasBegun() {
    return outlet.hasBegun;
  },
  write(piece) {
    turn.piece(piece);
    return outlet.write(piece);
  },
  drained: () => outlet.drained(),
  end(piece) {
    if (piece !== undefined) turn.piece(piece);
    outlet.end(piece);
  },
  stop: () => outlet.stop(),
});
