import { randomUUID } from "node:crypto";
import type { Engine } from "../../../core/engine/engine.ts";
import { GatheredText } from "../../../core/engine/gathered-text.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import type { Turn } from "../../../core/turn.ts";

const REQUEST = `Summarize this conversation, so that you can continue it from the summary alone. Write down:
- what the user asked for, and what the user decided or ruled out,
- what was done, with the paths, names and commands that matter,
- what was found out, and what failed,
- what is still open, and the next step.
Answer with the summary only. Call no tools.`;

export interface SummaryParts {
  readonly engine: Pick<Engine, "run">;
  /** The conversation. Its instructions and tools stay, so that the upstream's prompt cache holds. */
  readonly turn: Turn;
  readonly signal: AbortSignal;
  readonly onEvent: (event: TurnEvent) => void;
}

/** Asks the model for a summary of a conversation. Throws if it gives none. */
export async function askSummary({ engine, turn, signal, onEvent }: SummaryParts): Promise<string> {
  const request = { role: "user" as const, content: [{ type: "text" as const, text: REQUEST }] };
  const asked: Turn = { ...turn, messages: [...turn.messages, request], toolChoice: { type: "none" } };
  const said = new GatheredText();
  for await (const events of engine.run(asked, { requestId: randomUUID(), signal })) {
    for (const event of events) {
      if (event.type === "text") said.add(event.text);
      onEvent(event);
    }
  }
  const summary = said.take().trim();
  if (summary !== "") return summary;
  throw new ExcursorError("upstream-failed", "The model answered without a summary.", {
    hint: "The conversation is as it was. Try again, or choose another model.",
  });
}
