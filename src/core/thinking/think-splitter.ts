import { CodeFences } from "./code-fences.ts";
import { findCloser, matchMarker, matchOpener, openerStarts, PLAIN_CLOSERS } from "./think-delimiters.ts";

/** A piece of a model's text, told apart. `thinking-done` ends a block; the id, if any, belongs to the last one. */
export type ThinkPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "thinking-done" }
  | { readonly type: "think-id"; readonly id: string };

/**
 * Takes the thinking out of a stream of text, whatever the cut of the stream. Linear, and nothing is held back but what
 * may be the beginning of a delimiter:
 *
 * - `<think>` or `<thinking>` at the start of a line, outside of fenced code, to the next `</think>` or `</thinking>`;
 * - `<!--thinking-start:NONCE-->` anywhere, to the `<!--thinking-end:NONCE-->` with the same eight hex digits, so that
 *   nothing the model says can end the block;
 * - after either, the marker line of the block's id, which is told and not shown.
 *
 * One line break after the opener and one before the closer are part of the tags, and so are those after the block.
 * Nothing nests. A block that is never closed ends with the text.
 */
export class ThinkSplitter {
  #mode: "text" | "thinking" = "text";
  #closers: readonly string[] = PLAIN_CLOSERS;
  /** Line breaks at the front of what comes next belong to a tag: one, any number of them, or none. */
  #swallow: "none" | "one" | "all" = "none";
  /** Directly after a block, where the marker of its id may stand. */
  #isAfterBlock = false;
  #held = "";
  /** How much of what is held {@link release} has given out already. */
  #shown = 0;
  #fences = new CodeFences();

  /** Whether {@link release} or {@link end} would give out anything. */
  get isHolding(): boolean {
    return this.#held.length > this.#shown;
  }

  /** Only an opener can change anything. */
  get #isPlain(): boolean {
    return this.#mode === "text" && this.#held === "" && this.#swallow === "none" && !this.#isAfterBlock;
  }

  /** The next piece of the stream, of any length. */
  push(delta: string): readonly ThinkPart[] {
    if (delta === "") return [];
    if (this.#isPlain && !delta.includes("<")) {
      this.#fences.read(delta);
      return [{ type: "text", text: delta }];
    }
    const parts: ThinkPart[] = [];
    const input = this.#held === "" ? delta : this.#held + delta;
    const shown = this.#shown;
    this.#held = "";
    this.#shown = 0;
    let at = 0;
    while (at < input.length) {
      at =
        this.#mode === "text" ? this.#stepText(input, at, shown, parts) : this.#stepThinking(input, at, shown, parts);
    }
    // What was given out early and is still only a beginning stays given out.
    if (this.#held !== "" && this.#held.length === input.length) this.#shown = shown;
    return parts;
  }

  /** Gives out what is held, because it has been waiting too long. If it was a delimiter after all, that still counts. */
  release(): readonly ThinkPart[] {
    const text = this.#held.slice(this.#shown);
    this.#shown = this.#held.length;
    return text === "" ? [] : [{ type: this.#mode, text }];
  }

  /** Nothing more comes: gives out what is held and ends an open block. The next text begins anew. */
  end(): readonly ThinkPart[] {
    const parts = [...this.release()];
    if (this.#mode === "thinking") parts.push({ type: "thinking-done" });
    this.#mode = "text";
    this.#swallow = "none";
    this.#isAfterBlock = false;
    this.#held = "";
    this.#shown = 0;
    this.#fences = new CodeFences();
    return parts;
  }

  /** Reads text up to the next opener; gives where to go on. */
  #stepText(input: string, start: number, shown: number, parts: ThinkPart[]): number {
    const from = this.#skipLineBreaks(input, start);
    if (from === input.length) return from;
    if (this.#isAfterBlock) {
      const marker = matchMarker(input, from);
      if (marker === "partial") return this.#hold(input, from);
      this.#isAfterBlock = false;
      if (marker !== undefined) {
        parts.push({ type: "think-id", id: marker.value });
        this.#swallow = "all";
        return from + marker.length;
      }
    }
    const fences = this.#fences;
    let read = from;
    for (const at of openerStarts(input, from)) {
      const opener = matchOpener(input, at);
      if (opener === undefined) continue;
      if (input[at + 1] === "t" && !isAfterBlanks(input, read, at, fences.isLineBlank)) continue;
      fences.read(input.slice(read, at));
      read = at;
      if (input[at + 1] === "t" && fences.isInside) continue;
      emit(parts, "text", input, Math.max(from, shown), at);
      if (opener === "partial") return this.#hold(input, at);
      this.#mode = "thinking";
      this.#closers = opener.value;
      this.#swallow = "one";
      return at + opener.length;
    }
    fences.read(input.slice(read));
    emit(parts, "text", input, Math.max(from, shown), input.length);
    return input.length;
  }

  /** Reads thinking up to the closer; gives where to go on. */
  #stepThinking(input: string, start: number, shown: number, parts: ThinkPart[]): number {
    const from = this.#skipLineBreaks(input, start);
    const closer = findCloser(input, from, this.#closers);
    emit(parts, "thinking", input, Math.max(from, shown), closer.at);
    if (closer.length === undefined) return this.#hold(input, closer.at);
    parts.push({ type: "thinking-done" });
    this.#mode = "text";
    this.#swallow = "all";
    this.#isAfterBlock = true;
    // The block stood on lines of its own.
    this.#fences.startLine();
    return closer.at + closer.length;
  }

  #skipLineBreaks(input: string, start: number): number {
    if (this.#swallow === "none") return start;
    let at = start;
    const limit = this.#swallow === "one" ? start + 1 : input.length;
    while (at < limit && input[at] === "\n") at++;
    if (at < input.length || this.#swallow === "one") this.#swallow = "none";
    return at;
  }

  #hold(input: string, from: number): number {
    this.#held = input.slice(from);
    return input.length;
  }
}

function emit(parts: ThinkPart[], type: "text" | "thinking", input: string, from: number, to: number): void {
  if (to > from) parts.push({ type, text: from === 0 && to === input.length ? input : input.slice(from, to) });
}

/** Only blanks stand between the place and the start of its line. */
function isAfterBlanks(input: string, from: number, at: number, isLineBlank: boolean): boolean {
  let before = at - 1;
  while (before >= from && (input[before] === " " || input[before] === "\t")) before--;
  return before < from ? isLineBlank : input[before] === "\n";
}
