import { CodeFences } from "./code-fences.ts";
import { findCloser, matchMarker, matchOpener, openerStarts, PLAIN_CLOSERS } from "./think-delimiters.ts";

/** A piece of a model's text. `thinking-done` ends a block; `think-id` is the id of the last block. */
export type ThinkPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "thinking-done" }
  | { readonly type: "think-id"; readonly id: string };

/**
 * Separates thinking from a stream of text, which may be cut anywhere. It takes linear time and holds back only what may be
 * the beginning of a delimiter. Delimiters are:
 *
 * - `<think>` or `<thinking>` at the start of a line, outside of fenced code, to the next `</think>` or `</thinking>`;
 * - `<!--thinking-start:NONCE-->` anywhere, to `<!--thinking-end:NONCE-->` with the same eight hex digits, so that nothing in
 *   the model's text can end the block;
 * - after either, the line that marks the id of the block.
 *
 * One line break after the opener, one before the closer and all after the block belong to the delimiters. Blocks do not
 * nest. A block that is not closed ends with the text.
 */
export class ThinkSplitter {
  #mode: "text" | "thinking" = "text";
  #closers: readonly string[] = PLAIN_CLOSERS;
  /** How many line breaks at the beginning of the next text belong to a delimiter. */
  #swallow: "none" | "one" | "all" = "none";
  /** True directly after a block, where the marker of its id may be. */
  #isAfterBlock = false;
  #held = "";
  /** How many characters of the held text {@link release} has returned. */
  #shown = 0;
  #fences = new CodeFences();

  /** True if {@link release} would return something. */
  get isHolding(): boolean {
    return this.#held.length > this.#shown;
  }

  /** True if only an opener matters in the next text. */
  get #isPlain(): boolean {
    return this.#mode === "text" && this.#held === "" && this.#swallow === "none" && !this.#isAfterBlock;
  }

  /** Reads the next piece of the stream. */
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
    // The held text has grown and may still be a delimiter: what was released of it stays released.
    if (this.#held !== "" && this.#held.length === input.length) this.#shown = shown;
    return parts;
  }

  /** Returns the held text, when it has waited too long. If it becomes a delimiter later, that still counts. */
  release(): readonly ThinkPart[] {
    const text = this.#held.slice(this.#shown);
    this.#shown = this.#held.length;
    return text === "" ? [] : [{ type: this.#mode, text }];
  }

  /** Ends the stream: returns the held text and ends an open block. The next text starts a new stream. */
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

  /** Reads text up to the next opener. Returns where to continue. */
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

  /** Reads thinking up to the closer. Returns where to continue. */
  #stepThinking(input: string, start: number, shown: number, parts: ThinkPart[]): number {
    const from = this.#skipLineBreaks(input, start);
    const closer = findCloser(input, from, this.#closers);
    emit(parts, "thinking", input, Math.max(from, shown), closer.at);
    if (closer.length === undefined) return this.#hold(input, closer.at);
    parts.push({ type: "thinking-done" });
    this.#mode = "text";
    this.#swallow = "all";
    this.#isAfterBlock = true;
    // The block was on its own lines.
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

/** True if there is only white space between the start of the line and the position. */
function isAfterBlanks(input: string, from: number, at: number, isLineBlank: boolean): boolean {
  let before = at - 1;
  while (before >= from && (input[before] === " " || input[before] === "\t")) before--;
  return before < from ? isLineBlank : input[before] === "\n";
}
