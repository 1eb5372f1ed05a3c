import { isMaskOf } from "./masked-words.ts";
import type { Meaning } from "./meaning.ts";

/** A part of what a backend says, in a form in which two backends can be compared. */
export interface Step {
  readonly kind: string;
  readonly text: string;
}

/** The first place where two answers differ. `undefined`: that side says nothing there. */
export interface StepDifference {
  /** Counts from 1. */
  readonly step: number;
  readonly recorded: Step | undefined;
  readonly now: Step | undefined;
}

/** Blobs, checkpoints and signs of life: how often they come says nothing about the answer. */
const IGNORED =
  /^(?:kv_server_message|conversation_checkpoint_update|exec_server_control_message|interaction_update\.(?:heartbeat|token_delta|partial_tool_call|tool_call_delta))(?:\.|$)/;
/** Where a streamed text is cut says nothing, either. */
const STREAMED = /(?:^|\.)\w*_delta$/;
/** Numbers and times in texts. */
const VARIABLE = /^\d+$|^\d{4}-\d\d-\d\dT[\d:.]+Z?$/;

/** Gathers the steps of one answer. */
export class Steps {
  readonly #steps: Step[] = [];
  readonly #origin: string;

  /** `origin` is the backend's own, which may occur in its answers. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  get length(): number {
    return this.#steps.length;
  }

  get all(): readonly Step[] {
    return this.#steps;
  }

  add({ kind, texts }: Meaning): void {
    if (IGNORED.test(kind)) return;
    const said = texts.map((text) => (VARIABLE.test(text) ? "<number>" : text.replaceAll(this.#origin, "<backend>")));
    const last = this.#steps.at(-1);
    if (last?.kind === kind && STREAMED.test(kind)) {
      this.#steps[this.#steps.length - 1] = { kind, text: last.text + said.join("") };
    } else this.#steps.push({ kind, text: said.join(STREAMED.test(kind) ? "" : "\n") });
  }
}

/** `isCut`: the recording ends in the middle of the answer, so the other one may go on. */
export function firstDifference(
  recorded: readonly Step[],
  now: readonly Step[],
  isCut: boolean,
): StepDifference | undefined {
  const length = isCut ? recorded.length : Math.max(recorded.length, now.length);
  for (let index = 0; index < length; index++) {
    const [before, after] = [recorded[index], now[index]];
    const mayGoOn = isCut && index === length - 1 && before !== undefined && STREAMED.test(before.kind);
    const isSameText = mayGoOn ? after?.text.startsWith(before.text) : before?.text === after?.text;
    const isSame = isSameText || (before && after && isMaskOf(before.text, after.text));
    if (before?.kind === after?.kind && isSame) continue;
    return { step: index + 1, recorded: before, now: after };
  }
  return undefined;
}
