import { expect } from "vitest";
import type { ExcursorError } from "../../../src/core/errors.ts";
import type { RunEnd, RunListener } from "../../../src/wire/connect/run-stream.ts";

export interface Outcome {
  readonly error: ExcursorError | undefined;
  readonly end: RunEnd;
}

/** A listener that writes down what it hears, and lets a test wait for it. */
export class Recorder implements RunListener {
  readonly messages: string[] = [];
  readonly opened: Array<Readonly<Record<string, string>>> = [];
  readonly outcomes: Outcome[] = [];
  drains = 0;
  onMessage: ((payload: Uint8Array) => void) | undefined;
  #watchers: Array<{ readonly isTrue: () => boolean; readonly resolve: () => void }> = [];

  open(headers: Readonly<Record<string, string>>): void {
    this.opened.push(headers);
    this.#check();
  }

  message(payload: Uint8Array): void {
    this.messages.push(Buffer.from(payload).toString("latin1"));
    this.onMessage?.(payload);
    this.#check();
  }

  drain(): void {
    this.drains++;
    this.#check();
  }

  done(error: ExcursorError | undefined, end: RunEnd): void {
    this.outcomes.push({ error, end });
    this.#check();
  }

  /** Resolves once the claim holds, checked after each event. */
  until(isTrue: () => boolean): Promise<void> {
    if (isTrue()) return Promise.resolve();
    return new Promise((resolve) => this.#watchers.push({ isTrue, resolve }));
  }

  /** How it ended. Whichever way it failed, there is something to tell the reader. */
  async outcome(): Promise<Outcome> {
    await this.until(() => this.outcomes.length > 0);
    const [outcome] = this.outcomes;
    if (!outcome) throw new Error("unreachable");
    if (outcome.error && outcome.error.kind !== "canceled") expectAdvice(outcome.error);
    return outcome;
  }

  /** The error's code, or "ok". */
  async result(): Promise<string> {
    const { error } = await this.outcome();
    return error?.code ?? "ok";
  }

  #check(): void {
    for (const watcher of [...this.#watchers]) {
      if (!watcher.isTrue()) continue;
      this.#watchers.splice(this.#watchers.indexOf(watcher), 1);
      watcher.resolve();
    }
  }
}

/** A code for programs, one safe sentence or two, and what can be done about it. */
export function expectAdvice(error: ExcursorError): void {
  expect(error.code).toMatch(/^[a-z0-9_]+$/);
  expect(error.message).not.toMatch(/s3cret|\n|\bat .*:\d+:\d+|file:\/\//);
  expect(error.hint, error.code).toMatch(/^[A-Z].{8,140}\.$/);
}
