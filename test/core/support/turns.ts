import type { Driver, Run } from "../../../src/core/driver.ts";
import type { TurnEvent, Usage } from "../../../src/core/events.ts";
import type { Turn } from "../../../src/core/turn.ts";

export const aTurn = (over: Partial<Turn> = {}): Turn => ({
  principal: { id: "p", token: undefined },
  model: { id: "m", effort: undefined },
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  toolChoice: { type: "auto" },
  allowsParallelCalls: true,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
  ...over,
});

export const text = (value: string): TurnEvent => ({ type: "text", text: value });
export const thinking = (value: string): TurnEvent => ({ type: "thinking", text: value });
export const done = (reason: "stop" | "length" | "tool-calls" | "content-filter" = "stop"): TurnEvent => ({
  type: "done",
  reason,
});
export const someUsage: Usage = {
  inputTokens: 10,
  outputTokens: 5,
  cachedTokens: 4,
  cacheWrittenTokens: 2,
  reasoningTokens: 1,
  isEstimate: false,
};
export const usage = (over: Partial<Usage> = {}): TurnEvent => ({ type: "usage", usage: { ...someUsage, ...over } });

export interface ScriptedDriver extends Driver {
  readonly turns: Turn[];
  /** How many of its runs were cancelled. */
  readonly cancelled: () => number;
}

/** Answers the n-th turn with the n-th list of batches; an Error among them is thrown. */
export function scriptedDriver(...answers: (readonly (readonly TurnEvent[] | Error)[])[]): ScriptedDriver {
  const turns: Turn[] = [];
  let cancelled = 0;
  return {
    turns,
    cancelled: () => cancelled,
    listModels: () => Promise.resolve([]),
    open: (turn): Run => {
      const batches = answers[turns.length] ?? [];
      turns.push(turn);
      return {
        submitResults: () => false,
        cancel: () => {
          cancelled++;
        },
        async *[Symbol.asyncIterator]() {
          for (const batch of batches) {
            if (batch instanceof Error) throw batch;
            yield batch;
          }
        },
      };
    },
  };
}

export async function gather(answer: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const batch of answer) events.push(...batch);
  return events;
}

export const textIn = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");
