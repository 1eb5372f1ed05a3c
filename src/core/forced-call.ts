import { Draft } from "./draft.ts";
import { ExcursorError } from "./errors.ts";
import type { TurnEvent } from "./events.ts";
import { offeredTools } from "./run-terms.ts";
import type { Message, Turn } from "./turn.ts";

/** Whether the answer has to be a tool call. */
export const mustCall = ({ toolChoice }: Turn): boolean => toolChoice.type === "required" || toolChoice.type === "tool";

/**
 * An answer that calls a tool, from a model that cannot be made to: it is offered no other than may be called, and
 * told to; its text is kept back until it does, and if it does not, it is told once more. In the end it is an error,
 * never an answer in words that the client has no use for. Thinking comes through as it is thought.
 */
export async function* answerWithCall(
  turn: Turn,
  ask: (turn: Turn) => AsyncIterable<readonly TurnEvent[]>,
): AsyncGenerator<readonly TurnEvent[], void, undefined> {
  const asked = withInstruction(turn);
  const draft = new Draft();
  yield* draft.shown(ask(asked));
  if (draft.isPassedOn) return;

  const second = new Draft(draft.usage);
  yield* second.shown(ask(reminded(asked, draft.text)));
  if (second.isPassedOn) return;

  throw new ExcursorError("upstream-failed", "The model was asked twice to call a tool, and did not.", {
    code: "tool_not_called",
    field: "tool_choice",
    retryable: false,
  });
}

function withInstruction(turn: Turn): Turn {
  const { toolChoice, system } = turn;
  const which = toolChoice.type === "tool" ? `the tool ${JSON.stringify(toolChoice.name)}` : "one of the offered tools";
  // The run may go on with the results under another choice: what it was told must hold for the one call only.
  const rule = `Answer by calling ${which}, whatever else you would do. Write no answer before that; once you have the result, go on as you see fit.`;
  return { ...turn, tools: offeredTools(turn), system: [system, rule].filter(Boolean).join("\n\n") };
}

function reminded(turn: Turn, text: string): Turn {
  const reminder = "That was no tool call. Call the tool now, with arguments that fit what was asked.";
  const messages: readonly Message[] = [
    ...turn.messages,
    { role: "assistant", content: [{ type: "text", text }] },
    { role: "user", content: [{ type: "text", text: reminder }] },
  ];
  return { ...turn, messages };
}
