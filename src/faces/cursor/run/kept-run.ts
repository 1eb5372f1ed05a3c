import type { HubAnswers, HubRound } from "../../../core/hub/hub-answers.ts";
import type { AssistantMessage, ToolMessage } from "../../../core/turn.ts";

/**
 * The tool calls of one run and their results, by the run's id. A client that lost its stream sends the run again, under the
 * same id; what is kept here is not executed again. A call is written before it is made.
 */
export class KeptRun {
  readonly #store: HubAnswers;
  readonly #place: { readonly principalId: string; readonly id: string; readonly askedKey: string };
  readonly #rounds: { readonly said: AssistantMessage; readonly results: ToolMessage[] }[];

  constructor(store: HubAnswers, principalId: string, runId: string) {
    const askedKey = `cursor-run ${runId}`;
    this.#store = store;
    this.#place = { principalId, id: askedKey, askedKey };
    const [kept] = store.findAsked(principalId, askedKey);
    this.#rounds = (kept?.rounds ?? []).map(({ said, results }) => ({
      said,
      results: results.map(({ role, callId, content, isError }) => ({ role, callId, content, isError })),
    }));
  }

  get rounds(): readonly HubRound[] {
    return this.#rounds;
  }

  resultOf(callId: string): ToolMessage | undefined {
    return this.#rounds.flatMap(({ results }) => results).find((result) => result.callId === callId);
  }

  begin(said: AssistantMessage): void {
    this.#rounds.push({ said, results: [] });
    this.#write(this.#rounds.length - 1);
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
