import type { TurnEvent } from "../events.ts";
import type { Turn } from "../turn.ts";
import { findStop } from "./stop-sequences.ts";
import { CHARS_PER_TOKEN } from "./usage-estimate.ts";

/** True if a turn limits its output. Most do not, and do without this rule. */
export const hasOutputLimits = ({ stop, maxOutputTokens }: Turn): boolean =>
  stop.length > 0 || maxOutputTokens !== undefined;

/**
 * Ends an answer at a stop sequence or at the limit of tokens, whichever comes first. The result does not depend on how the
 * upstream cuts the text into events.
 *
 * Stop sequences are found in text only, not across thinking or tool calls. The number of tokens is what the upstream has
 * reported, plus an estimate of what came since. Thinking and tool calls count, too; a call that is too long is begun and
 * never completed.
 */
export class OutputLimit {
  readonly #stop: readonly string[];
  readonly #maxTokens: number;
  /** The end of the text so far, held back because it may be the beginning of a stop sequence. */
  #held = "";
  /** How many characters of that are in the upstream's last count, so that they are not counted twice. */
  #counted = 0;
  #knownTokens = 0;
  #charsSince = 0;
  #isOver = false;
  /** Ids of calls whose arguments are streamed. */
  readonly #begun = new Set<string>();

  constructor({ stop, maxOutputTokens }: Pick<Turn, "stop" | "maxOutputTokens">) {
    this.#stop = stop;
    this.#maxTokens = maxOutputTokens ?? Number.POSITIVE_INFINITY;
  }

  /** May return no events. If the limit is reached, it adds a `done`, and the run has to be cancelled. */
  step(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (this.#passes(events)) return events;
    const out: TurnEvent[] = [];
    for (const event of events) {
      if (this.#isOver) break;
      this.#take(event, out);
    }
    return out;
  }

  /** The fast path: without stop sequences, a batch of text within the limit is passed on as it is. */
  #passes(events: readonly TurnEvent[]): boolean {
    if (this.#stop.length > 0 || this.#isOver) return false;
    let chars = 0;
    for (const event of events) {
      if (event.type === "text" || event.type === "thinking") chars += event.text.length;
      else if (event.type === "usage" || "id" in event) return false;
    }
    if (chars > this.#room()) return false;
    this.#charsSince += chars;
    return true;
  }

  #room(): number {
    return Math.max(0, (this.#maxTokens - this.#knownTokens) * CHARS_PER_TOKEN - this.#charsSince);
  }

  #take(event: TurnEvent, out: TurnEvent[]): void {
    switch (event.type) {
      case "text":
        this.#takeText(event.text, out);
        return;
      case "usage":
        this.#counted = Math.max(this.#counted, Math.min(this.#held.length, this.#room()));
        this.#knownTokens = event.usage.outputTokens;
        this.#charsSince = 0;
        out.push(event);
        return;
      case "thinking":
        this.#release(out);
        if (!this.#isOver) this.#emit(event.text, thought, out);
        return;
      case "tool-call-start":
      case "tool-call-delta":
      case "tool-call":
        this.#release(out);
        if (!this.#isOver) this.#takeCall(event, out);
        return;
      case "done":
        this.#release(out);
        if (!this.#isOver) out.push(event);
        return;
      case "thinking-done":
      case "activity":
      case "notice":
        out.push(event);
        return;
      default:
        event satisfies never;
    }
  }

  #takeText(text: string, out: TurnEvent[]): void {
    const { before, held, stop } = findStop(this.#held + text, this.#stop);
    this.#held = held;
    this.#emit(before, said, out);
    if (stop !== undefined && !this.#isOver) this.#end({ type: "done", reason: "stop", stopSequence: stop }, out);
  }

  #takeCall(event: CallEvent, out: TurnEvent[]): void {
    const { id } = event;
    if (event.type === "tool-call-start") {
      if (this.#room() === 0) {
        this.#end({ type: "done", reason: "length" }, out);
        return;
      }
      this.#begun.add(id);
      this.#charsSince += event.name.length;
      out.push(event);
    } else if (event.type === "tool-call-delta") {
      this.#emit(event.json, (json) => ({ ...event, json }), out);
    } else if (this.#begun.has(id)) {
      out.push(event);
    } else {
      this.#takeWholeCall(event, out);
    }
  }

  #takeWholeCall(call: Extract<CallEvent, { type: "tool-call" }>, out: TurnEvent[]): void {
    const { id, name, args } = call;
    const json = JSON.stringify(args);
    const length = name.length + json.length;
    if (length <= this.#room()) {
      this.#charsSince += length;
      out.push(call);
      return;
    }
    this.#takeCall({ type: "tool-call-start", id, name }, out);
    if (!this.#isOver) this.#takeCall({ type: "tool-call-delta", id, json }, out);
  }

  #release(out: TurnEvent[]): void {
    const text = this.#held;
    this.#held = "";
    this.#emit(text, said, out);
  }

  #emit(text: string, toEvent: (text: string) => TurnEvent, out: TurnEvent[]): void {
    if (text === "") return;
    const counted = Math.min(this.#counted, text.length);
    const room = counted + this.#room();
    const fitting = text.length <= room ? text : cutAt(text, room);
    this.#counted -= counted;
    this.#charsSince += Math.max(0, fitting.length - counted);
    if (fitting !== "") out.push(toEvent(fitting));
    if (fitting !== text) this.#end({ type: "done", reason: "length" }, out);
  }

  #end(done: Extract<TurnEvent, { type: "done" }>, out: TurnEvent[]): void {
    this.#isOver = true;
    out.push(done);
  }
}

type CallEvent = Extract<TurnEvent, { readonly id: string }>;

const said = (text: string): TurnEvent => ({ type: "text", text });
const thought = (text: string): TurnEvent => ({ type: "thinking", text });

/** Cuts a text to at most `length` UTF-16 units, without splitting a surrogate pair. */
function cutAt(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHighSurrogate ? length - 1 : length);
}
