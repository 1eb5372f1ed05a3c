import type { Run } from "../../driver.ts";
import type { TurnEvent } from "../../events.ts";
import type { ToolMessage } from "../../turn.ts";

type ToolCall = Extract<TurnEvent, { readonly type: "tool-call" }>;

/**
 * Wraps a run for a client that takes one tool call at a time, over an upstream that may make several at once. The client
 * gets the first call of a round; with each result it gets the next. The upstream gets all results together.
 */
export function oneCallAtATime(run: Run): Run {
  /** The call that the client has now. */
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
