import type { Usage } from "../../core/events.ts";

/** The usage is at the end of an answer, after what may be megabytes. */
const MAX_TAIL = 4096;

/** Keeps the end of an answer that is passed on, where its usage is. */
export class UsageTail {
  #tail = "";
  #bytes = 0;

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#tail = (this.#tail + Buffer.from(chunk.subarray(-MAX_TAIL)).toString("latin1")).slice(-MAX_TAIL);
  }

  /** True at the start, and after a whole server-sent event. */
  get endsEvent(): boolean {
    return this.#bytes === 0 || /\r?\n\r?\n$/.test(this.#tail.slice(-4));
  }

  /** Returns what the upstream reports, else an estimate. */
  usage(inputTokens: number): Usage {
    const at = this.#tail.lastIndexOf('"prompt_tokens"');
    const input = at === -1 ? undefined : numberIn(this.#tail.slice(at), "prompt_tokens");
    const output = numberIn(this.#tail, "completion_tokens") ?? 0;
    const common = { cachedTokens: 0, cacheWrittenTokens: 0, reasoningTokens: 0 };
    if (input !== undefined) return { ...common, inputTokens: input, outputTokens: output, isEstimate: false };
    return { ...common, inputTokens, outputTokens: Math.ceil(this.#bytes / BYTES_PER_TOKEN), isEstimate: true };
  }
}

/** A streamed token comes with much around it. */
const BYTES_PER_TOKEN = 64;

function numberIn(text: string, name: string): number | undefined {
  const digits = new RegExp(`"${name}"\\s*:\\s*(\\d{1,12})\\b`).exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
