/** The streamed arguments of calls. Most answers have none. */
export class StreamedArgs {
  #texts: Map<string, string> | undefined;

  has(callId: string): boolean {
    return this.#texts?.has(callId) ?? false;
  }

  /**
   * Returns the new part of the text. Despite the field's name the backend sends the whole text each time; a text that
   * does not extend the last one counts as a delta.
   */
  step(callId: string, text: string): string {
    this.#texts ??= new Map();
    const known = this.#texts.get(callId) ?? "";
    const isWhole = text.startsWith(known);
    this.#texts.set(callId, isWhole ? text : known + text);
    return isWhole ? text.slice(known.length) : text;
  }
}
