import { hash } from "node:crypto";
import type { HubResult } from "../hub/tool-hub.ts";
import type { JsonObject } from "../turn.ts";

/** How often the same call may give the same result. */
const MAX_REPEATS = 3;
/** After how many rounds in a row with a warning the model is stopped. */
const MAX_WARNINGS = 3;

/**
 * Stops a model that calls tools without end. It limits the number of rounds, and refuses calls that have given the same
 * result several times. The refusal is the result of the call and asks the model to answer. A model that ignores it for
 * several rounds is hopeless.
 */
export class LoopGuard {
  readonly #maxSteps: number;
  readonly #seen = new Map<string, { readonly digest: string; readonly times: number }>();
  #steps = 0;
  #warnings = 0;
  #hasWarned = false;

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps;
  }

  get isStuck(): boolean {
    return this.#warnings >= MAX_WARNINGS;
  }

  /** Begins a round of calls. */
  beginStep(): void {
    this.#steps++;
    this.#warnings = this.#hasWarned ? this.#warnings + 1 : 0;
    this.#hasWarned = false;
  }

  /** Returns a warning that replaces the result; undefined if the call may be made. */
  warn(name: string, args: JsonObject): string | undefined {
    const seen = this.#seen.get(keyOf(name, args));
    const warning =
      this.#steps > this.#maxSteps
        ? `The limit of ${this.#maxSteps} steps is reached. Call no more tools: answer with what you know.`
        : seen && seen.times >= MAX_REPEATS
          ? `This very call has had the same result ${seen.times} times. Do something else, or answer with what you know.`
          : undefined;
    if (warning !== undefined) this.#hasWarned = true;
    return warning;
  }

  note(name: string, args: JsonObject, { content, isError }: HubResult): void {
    const digest = hash("sha256", JSON.stringify([isError, content]), "base64url");
    const key = keyOf(name, args);
    const seen = this.#seen.get(key);
    this.#seen.set(key, { digest, times: seen?.digest === digest ? seen.times + 1 : 1 });
  }
}

const keyOf = (name: string, args: JsonObject): string => `${name} ${JSON.stringify(args)}`;
