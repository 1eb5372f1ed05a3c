import type { GivenAnswer, SharedQuestions, TakeAnswer } from "../server/routes/shared-questions.ts";
import type { InternalAddress, InternalClient } from "./internal/internal-client.ts";
import type { InternalHandler } from "./internal/internal-listener.ts";

interface Askers {
  /** The tag of this gateway. */
  readonly tag: string;
  find(tag: string): Promise<InternalAddress | undefined>;
}

/** Passes answers to questions of tools on to the gateway whose client was asked. */
export class QuestionRelay implements SharedQuestions {
  readonly #askers: Askers;
  readonly #client: InternalClient;
  readonly #takers: TakeAnswer[] = [];

  constructor(askers: Askers, client: InternalClient) {
    this.#askers = askers;
    this.#client = client;
  }

  get tag(): string {
    return this.#askers.tag;
  }

  async send(tag: string, answer: GivenAnswer): Promise<boolean> {
    const asker = await this.#askers.find(tag);
    if (!asker) return false;
    const [reply] = await this.#client.ask(asker, "answer", answer);
    return (reply as { readonly isTaken?: unknown } | undefined)?.isTaken === true;
  }

  onAnswer(take: TakeAnswer): void {
    this.#takers.push(take);
  }

  /** Takes the answers that other gateways send. */
  readonly handler: InternalHandler = async (exchange) => {
    for await (const message of exchange.messages()) {
      const answer = message as GivenAnswer;
      await exchange.send({ isTaken: this.#takers.some((take) => take(answer)) });
    }
  };
}
