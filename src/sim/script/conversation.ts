import type { JsonObject } from "../../core/turn.ts";
import { parseScripts, type Script } from "./parse.ts";

/** A message, independent of the structure that it was read from. */
export type Message =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string; readonly images: readonly Image[] }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly Call[] }
  | { readonly role: "tool"; readonly results: readonly Result[] };

interface Image {
  readonly type: string;
  readonly bytes: number;
}

export interface Call {
  /** Empty if the client sent none. */
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

interface Result {
  readonly callId: string;
  readonly text: string;
}

/** All user messages after the last finished answer, and what was done for them so far. */
export interface Turn {
  readonly text: string;
  readonly images: readonly Image[];
  readonly calls: readonly Call[];
  /** In the order of their calls. */
  readonly results: readonly string[];
  readonly start: number;
  readonly isFinished: boolean;
}

/**
 * Splits a conversation into turns. An answer is finished if its adjacent assistant messages have no tool call; after a
 * call, the same answer goes on.
 */
export function splitTurns(messages: readonly Message[]): readonly Turn[] {
  const turns: ReturnType<typeof emptyTurn>[] = [];
  let answerHasCalls = false;
  messages.forEach((message, index) => {
    if (message.role === "user" && turns.at(-1)?.isFinished !== false) turns.push(emptyTurn(index));
    const turn = turns.at(-1);
    if (!turn) return;
    addTo(turn, message);
    if (message.role === "tool") turn.isFinished = false;
    if (message.role === "assistant") {
      const goesOn = messages[index - 1]?.role === "assistant";
      answerHasCalls = (goesOn && answerHasCalls) || message.calls.length > 0;
      turn.isFinished = !answerHasCalls;
    }
  });
  return turns;
}

function addTo(turn: ReturnType<typeof emptyTurn>, message: Message): void {
  switch (message.role) {
    case "user":
      turn.text += turn.text === "" ? message.text : `\n${message.text}`;
      turn.images.push(...message.images);
      break;
    case "assistant":
      turn.calls.push(...message.calls);
      break;
    case "tool":
      turn.answers.push(...message.results);
      break;
    case "system":
      break;
  }
}

const emptyTurn = (start: number) => ({
  text: "",
  images: [] as Image[],
  calls: [] as Call[],
  answers: [] as Result[],
  get results(): string[] {
    return inOrderOfCalls(this.answers, this.calls);
  },
  start,
  isFinished: false,
});

/** Returns these messages as one turn, for an answer that is resumed. */
export function asOneTurn(messages: readonly Message[], start: number): Turn {
  const turn = emptyTurn(start);
  for (const message of messages.slice(start)) addTo(turn, message);
  return turn;
}

/** Sorts results by their calls. Results without a known call come last. */
function inOrderOfCalls(results: readonly Result[], calls: readonly Call[]): string[] {
  const places = new Map(calls.flatMap(({ id }, place) => (id === "" ? [] : [[id, place] as const])));
  const placeOf = ({ callId }: Result) => places.get(callId) ?? calls.length;
  return [...results].sort((a, b) => placeOf(a) - placeOf(b)).map(({ text }) => text);
}

/** Returns the script of the last turn: its own, or one that an earlier turn left after `next`. */
export function scriptOf(turns: readonly Turn[]): Script | undefined {
  let pending: readonly Script[] = [];
  for (const turn of turns) {
    const own = parseScripts(turn.text);
    pending = own.length > 0 ? own : pending.slice(1);
  }
  return pending[0];
}

/** Formats `{{history}}`: a line for each message and for each call. */
export function describeHistory(messages: readonly Message[]): string {
  const line = (role: string, text: string) => `${role}: ${text.replaceAll("\n", "\\n")}`;
  return messages
    .flatMap((message) => {
      switch (message.role) {
        case "tool":
          return message.results.map(({ text }) => line("tool", text));
        case "assistant": {
          const calls = message.calls.map(({ name, args }) => line("assistant", `[${name} ${JSON.stringify(args)}]`));
          return message.text === "" && calls.length > 0 ? calls : [line("assistant", message.text), ...calls];
        }
        default:
          return [line(message.role, message.text)];
      }
    })
    .join("\n");
}
