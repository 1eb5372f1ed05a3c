import type { Run } from "../driver.ts";
import type { TurnEvent } from "../events.ts";
import type { ToolMessage } from "../turn.ts";

type ToolCall = Extract<TurnEvent, { readonly type: "tool-call" }>;

/**
 * A run for a client that wants one tool call at a time, over an upstream that may ask for several at once. The client
 * is shown the first of a batch; with each result it gets the next; the upstream hears of the results when they are
 * all there. Nothing is asked twice, and nothing is left out.
 */
export function oneCallAtATime(run: Run): Run {
  /** The call of this batch that the client has now. */
  let shownId: string | undefined;
  let due: ToolCall | undefined;
  const waiting: ToolCall[] = [];
  const results: ToolMessage[] = [];

  const isShown = (event: TurnEvent): boolean => {
    if (!("id" in event)) return true;
    shownId ??= event.id;
    if (event.id === shownId) return true;
    if (event.type === "tool-call") waiting.push(event);
    return false;
  };

  return {
    async *[Symbol.asyncIterator]() {
      if (due) {
        yield [due, { type: "done", reason: "tool-calls" }];
        return;
      }
      for await (const events of run) {
        const shown = events.filter(isShown);
        if (shown.length > 0) yield shown;
      }
    },
    submitResults(given, history) {
      results.push(...given);
      due = waiting.shift();
      shownId = due?.id;
      return due !== undefined || run.submitResults(results.splice(0), history);
    },
    cancel: () => run.cancel(),
  };
}
