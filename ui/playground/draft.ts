import { signal } from "@preact/signals";
import type { ChatMessage, Question } from "./dialects.ts";
import type { Play } from "./play.ts";

/** What the user has chosen and written in the playground, and not sent yet. */
export interface Draft {
  readonly model: string;
  /** The id of a dialect. */
  readonly dialect: string;
  readonly usesHub: boolean;
  readonly system: string;
  readonly text: string;
  /** Data URLs. */
  readonly images: readonly string[];
}

/** Kept while another page is shown. */
export const draft = signal<Draft>({
  model: "auto",
  dialect: "chat",
  usesHub: false,
  system: "",
  text: "",
  images: [],
});

export function changeDraft(change: Partial<Draft>): void {
  draft.value = { ...draft.value, ...change };
}

/** Returns the request that asks for an answer to a message, after the turns before it. */
export const questionOf = ({ model, system }: Draft, turns: Play["turns"], asked: ChatMessage): Question => ({
  model: model.trim() || "auto",
  system,
  messages: [...historyOf(turns), asked],
});

/** Returns what can be sent again: the draft, or the last question if nothing is written; undefined without both. */
export function repeatable(written: Draft, turns: Play["turns"]): Question | undefined {
  const { text, images } = written;
  if (text.trim() !== "") return questionOf(written, turns, { role: "user", text, images });
  const last = turns.at(-1);
  return last && questionOf(written, turns.slice(0, -1), last.asked);
}

/** Turns without an answer are left out. */
const historyOf = (turns: Play["turns"]): readonly ChatMessage[] =>
  turns.flatMap(({ asked, answer }) =>
    answer.text === "" ? [] : [asked, { role: "assistant", text: answer.text, images: [] }],
  );
