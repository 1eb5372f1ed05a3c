import { ExcursorError } from "../../../core/errors.ts";
import type { AnswerPlace, HubAnswers, HubRound, KeptAnswer } from "../../../core/hub/hub-answers.ts";
import type { AssistantMessage, ToolMessage } from "../../../core/turn.ts";

/**
 * The tool calls of one run and their results, by the run's id. A client that lost its stream sends the run again, under the
 * same id; what is kept here is not executed again. A call is written before it is made.
 */
export class KeptRun {
  readonly #store: HubAnswers;
  readonly #place: AnswerPlace;
  readonly #rounds: { readonly said: AssistantMessage; readonly results: ToolMessage[] }[];

  static async open(store: HubAnswers, principalId: string, runId: string): Promise<KeptRun> {
    const askedKey = `cursor-run ${runId}`;
    const [kept] = await store.findAsked(principalId, askedKey);
    return new KeptRun(store, { principalId, id: askedKey, askedKey }, kept);
  }

  private constructor(store: HubAnswers, place: AnswerPlace, kept: KeptAnswer | undefined) {
    this.#store = store;
    this.#place = place;
    this.#rounds = (kept?.rounds ?? []).map(({ said, results }) => ({
      said,
      results: results.map(({ role, callId, content, isError }) => ({ role, callId, content, isError })),
    }));
  }

  /** Counts what is known of it: it only grows. */
  get progress(): number {
    return this.#rounds.reduce((sum, { results }) => sum + 1 + results.length, 0);
  }

  get rounds(): readonly HubRound[] {
    return this.#rounds;
  }

  resultOf(callId: string): ToolMessage | undefined {
    return this.#rounds.flatMap(({ results }) => results).find((result) => result.callId === callId);
  }

  /** Throws if another process has begun the same round. */
  async begin(said: AssistantMessage): Promise<void> {
    const round = { said, results: [] };
    const at = this.#rounds.push(round) - 1;
    const isOurs = await this.#store.beginRound(this.#place, at, round);
    if (!isOurs) throw new ExcursorError("canceled", "Another gateway goes on with this run.");
  }

  add(result: ToolMessage): void {
    const at = this.#rounds.findLastIndex(({ said }) =>
      said.content.some((part) => part.type === "tool-call" && part.id === result.callId),
    );
    const round = this.#rounds[at];
    if (!round) return;
    round.results.push(result);
    this.#write(at);
  }

  #write(at: number): void {
    const round = this.#rounds[at];
    if (round) this.#store.putRound(this.#place, at, round);
  }
}
