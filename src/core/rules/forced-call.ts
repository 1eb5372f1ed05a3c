import { callIdOf, newRunId } from "../engine/run/call-names.ts";
import { offeredTools } from "../engine/run-terms.ts";
import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import type { Message, Turn } from "../turn.ts";
import { Draft } from "./draft.ts";
import { findTextCall } from "./find-text-call.ts";
import type { CheckContext } from "./output-check.ts";

/** True if the answer has to be a tool call. */
export const mustCall = ({ toolChoice }: Turn): boolean => toolChoice.type === "required" || toolChoice.type === "tool";

export interface ForcedCallContext extends Omit<CheckContext, "principal"> {
  /** Called when a text is taken as a call. No run waits for the result of such a call. */
  readonly onTextCall: (callId: string, tool: string) => void;
}

/**
 * Makes a model call a tool, over an upstream that has no such option. The model is offered only the tools that it may call,
 * and is instructed to call one. Its text is held back. If it calls none, it is asked once more; if it still does not, the
 * answer is an error, since the client cannot use a text. Thinking is passed on as it comes.
 *
 * A text that is the arguments of a tool counts as the call ({@link findTextCall}). Its result is replayed from the
 * client's transcript, as for any call whose run is gone.
 */
export async function* answerWithCall(
  turn: Turn,
  ask: (turn: Turn) => AsyncIterable<readonly TurnEvent[]>,
  context: ForcedCallContext,
): AsyncGenerator<readonly TurnEvent[], void, undefined> {
  const asked = withInstruction(turn);
  const inText = async ({ text }: Draft) => {
    const call = await findTextCall(text, asked.tools, { ...context, principal: turn.principal });
    if (!call) return undefined;
    const id = callIdOf(newRunId(), 0);
    context.onTextCall(id, call.name);
    return { ...call, id };
  };

  const draft = new Draft();
  yield* draft.shown(ask(asked));
  if (draft.isPassedOn) return;
  const call = await inText(draft);
  if (call) return yield draft.finishWithCall(call);

  const second = new Draft(draft.usage);
  yield* second.shown(ask(reminded(asked, draft.text)));
  if (second.isPassedOn) return;
  const secondCall = await inText(second);
  if (secondCall) return yield second.finishWithCall(secondCall);

  throw new ExcursorError("tool_not_called", [], { field: "tool_choice", retryable: false });
}

function withInstruction(turn: Turn): Turn {
  const { toolChoice, system } = turn;
  const which = toolChoice.type === "tool" ? `the tool ${JSON.stringify(toolChoice.name)}` : "one of the offered tools";
  // The run goes on with the results, perhaps under another tool choice, so the instruction must only cover this call.
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
