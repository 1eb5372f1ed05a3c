import { hash } from "node:crypto";
import type { HubResult } from "../hub/tool-hub.ts";
import type { JsonObject } from "../turn.ts";

/** How often the same call may have the same result. */
const MAX_REPEATS = 3;
/** How often in a row a model may be told to stop before it is stopped. */
const MAX_WARNINGS = 3;

/**
 * Sees to it that a model which runs tools comes to an end: so many steps, and no call over and over that changes
 * nothing. It is told so as the result of the call, to answer with what it has; if it does not listen, it is hopeless.
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

  get isHopeless(): boolean {
    return this.#warnings >= MAX_WARNINGS;
  }

  /** A batch of calls begins. */
  beginStep(): void {
    this.#steps++;
    this.#warnings = this.#hasWarned ? this.#warnings + 1 : 0;
    this.#hasWarned = false;
  }

  /** What the model is told instead of a result; undefined lets the call be made. */
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
