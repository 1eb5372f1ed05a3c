import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import type { Message, OutputFormat, Turn } from "../turn.ts";
import { Draft } from "./draft.ts";
import { type CheckContext, type CheckedOutput, createOutputCheck, type OutputCheck } from "./output-check.ts";
import { findStop } from "./stop-sequences.ts";

/**
 * Makes a model answer with JSON that matches the turn's format, over an upstream that has no such option. The model is
 * instructed, and its text is held back until it is complete and checked. If it does not match, the model is asked once to
 * correct it; if it still does not match, the answer is an error. Thinking is passed on as it comes.
 */
export async function* answerInJson(
  turn: Turn,
  ask: (turn: Turn) => AsyncIterable<readonly TurnEvent[]>,
  context: Omit<CheckContext, "principal">,
): AsyncGenerator<readonly TurnEvent[], void, undefined> {
  const check = await createOutputCheck(turn.output, { ...context, principal: turn.principal });
  const { stop } = turn;
  const asked: Turn = {
    ...turn,
    stop: [],
    system: [turn.system, instruction(turn.output)].filter(Boolean).join("\n\n"),
  };

  const draft = new Draft();
  yield* draft.shown(ask(asked));
  if (draft.isPassedOn) return;
  const checked = await judge(check, draft.text, stop);
  if (checked.isValid) return yield draft.finish(checked.json, checked.stopSequence);

  const repaired = new Draft(draft.usage);
  yield* repaired.shown(ask(withCorrection(asked, draft.text, checked.problem)));
  if (repaired.isPassedOn) return;
  const rechecked = await judge(check, repaired.text, stop);
  if (rechecked.isValid) return yield repaired.finish(rechecked.json, rechecked.stopSequence);

  throw new ExcursorError("invalid_json_output", [rechecked.problem], { retryable: false });
}

type Judged = CheckedOutput & { readonly stopSequence?: string | undefined };

/**
 * Checks the whole text first and applies stop sequences to the JSON that was found in it, since the text around it (such as a
 * code fence) may contain a stop sequence. If the whole text does not match, the text before the first stop sequence may.
 */
async function judge(check: OutputCheck, text: string, stop: readonly string[]): Promise<Judged> {
  const whole = await check(text);
  if (whole.isValid) {
    const { before, stop: stopSequence } = findStop(whole.json, stop);
    return { ...whole, json: stopSequence === undefined ? whole.json : before, stopSequence };
  }
  const { before, stop: stopSequence } = findStop(text, stop);
  const cut = stopSequence === undefined ? whole : await check(before);
  return cut.isValid ? { ...cut, stopSequence } : whole;
}

function instruction(format: OutputFormat): string {
  const only = "Answer with JSON only: no code fence, no words before or after it.";
  if (format.type !== "json-schema") return `${only} It must be one JSON object.`;
  return `${only} It must match this JSON schema, named ${JSON.stringify(format.name)}:\n${JSON.stringify(format.schema)}`;
}

function withCorrection(turn: Turn, text: string, problem: string): Turn {
  const correction = `That is not what was asked for: ${problem}. Answer again, with the corrected JSON only.`;
  const messages: readonly Message[] = [
    ...turn.messages,
    { role: "assistant", content: [{ type: "text", text }] },
    { role: "user", content: [{ type: "text", text: correction }] },
  ];
  return { ...turn, messages };
}
