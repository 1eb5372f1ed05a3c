import type { Usage } from "../events.ts";
import type { PassedApi } from "../passed-request.ts";
import type { JsonObject } from "../turn.ts";
import { tokensIn } from "./usage-estimate.ts";

/** The usage is at the end of an answer, after what may be megabytes. */
const MAX_TAIL = 4096;
/** A longer event is counted by its bytes. */
const MAX_EVENT = 64 * 1024;

/** Counts what an answer that is passed on uses: by the figures at its end, else by an estimate of its text. */
export class PassedUsage {
  readonly #api: PassedApi;
  readonly #isStream: boolean;
  readonly #inputTokens: number;
  #tail = "";
  #bytes = 0;
  #line = "";
  #choices = 0;
  #chars = 0;

  constructor(api: PassedApi, contentType: string, inputTokens: number) {
    this.#api = api;
    this.#isStream = contentType.startsWith("text/event-stream");
    this.#inputTokens = inputTokens;
  }

  add(chunk: Uint8Array): void {
    const text = Buffer.from(chunk).toString("latin1");
    this.#bytes += text.length;
    this.#tail = (this.#tail + text.slice(-MAX_TAIL)).slice(-MAX_TAIL);
    if (!this.#isStream) return;
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#see(line);
    if (this.#line.length <= MAX_EVENT) return;
    this.#chars += this.#line.length;
    this.#line = "";
  }

  /** True at the start, and after a whole server-sent event. */
  get endsEvent(): boolean {
    return this.#bytes === 0 || /\r?\n\r?\n$/.test(this.#tail.slice(-4));
  }

  /** What the model has written so far, by estimate. */
  get outputTokens(): number {
    if (this.#api === "embeddings") return 0;
    // Each choice of an event is a token at least.
    return this.#isStream ? Math.max(this.#choices, tokensIn(this.#chars)) : tokensIn(this.#bytes);
  }

  /** Returns what the upstream reports, else an estimate. */
  total(): Usage {
    const at = this.#tail.lastIndexOf('"prompt_tokens"');
    const input = at === -1 ? undefined : numberIn(this.#tail.slice(at), "prompt_tokens");
    const output = numberIn(this.#tail, "completion_tokens") ?? 0;
    const common = { cachedTokens: 0, cacheWrittenTokens: 0, reasoningTokens: 0 };
    if (input !== undefined) return { ...common, inputTokens: input, outputTokens: output, isEstimate: false };
    return { ...common, inputTokens: this.#inputTokens, outputTokens: this.outputTokens, isEstimate: true };
  }

  /** Counts the choices of one event, and their text. */
  #see(line: string): void {
    if (!line.startsWith("data:")) return;
    try {
      const { choices } = JSON.parse(line.slice("data:".length)) as { readonly choices?: readonly JsonObject[] };
      for (const { text } of choices ?? []) {
        this.#choices++;
        if (typeof text === "string") this.#chars += text.length;
      }
    } catch {
      this.#chars += line.length;
    }
  }
}

function numberIn(text: string, name: string): number | undefined {
  const digits = new RegExp(`"${name}"\\s*:\\s*(\\d{1,12})\\b`).exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
