/** The arguments of calls as they come into being. Most answers have none. */
export class StreamedArgs {
  #texts: Map<string, string> | undefined;

  /** Whether anything was streamed of this call. */
  has(callId: string): boolean {
    return this.#texts?.has(callId) ?? false;
  }

  /**
   * What is new in the text so far. The backend repeats all of it every time, whatever the field's name says; one that
   * does not extend the last is taken for the next piece.
   */
  step(callId: string, text: string): string {
    this.#texts ??= new Map();
    const known = this.#texts.get(callId) ?? "";
    const isWhole = text.startsWith(known);
    this.#texts.set(callId, isWhole ? text : known + text);
    return isWhole ? text.slice(known.length) : text;
  }
}
