import type { Question } from "./activity.ts";

/** A question of an agent that the gateway's owner answers, beside the answer itself. */
export interface OwnerPrompt {
  /** The agent's name. */
  readonly from: string;
  readonly question: Question;
}

/** The questions that a page shows to the owner. */
export interface OpenPrompts {
  /** The questions that wait, oldest first. */
  readonly list: readonly OwnerPrompt[];
  find(id: string): OwnerPrompt | undefined;
  /** Called when the owner begins to look. Returns what to call at the end. Unanswered questions are declined then. */
  attend(): () => void;
}

/** A page that is loaded again is gone for a moment only. */
const GRACE_MS = 30_000;
const MAX_PROMPTS = 200;

/**
 * Questions of agents to the gateway's owner. They are for turns whose client cannot show questions, and only while the
 * owner looks, for example at the dashboard.
 */
export class OwnerPrompts implements OpenPrompts {
  readonly #open = new Map<string, OwnerPrompt>();
  #viewers = 0;
  #grace: NodeJS.Timeout | undefined;

  /** True if the owner would see a question. */
  get canAsk(): boolean {
    return this.#viewers > 0 && this.#open.size < MAX_PROMPTS;
  }

  get list(): readonly OwnerPrompt[] {
    return [...this.#open.values()];
  }

  find(id: string): OwnerPrompt | undefined {
    return this.#open.get(id);
  }

  /** Shows a question. The caller withdraws it with {@link withdraw} when it is settled. */
  add(prompt: OwnerPrompt): void {
    this.#open.set(prompt.question.id, prompt);
  }

  withdraw(id: string): void {
    this.#open.delete(id);
  }

  attend(): () => void {
    this.#viewers++;
    clearTimeout(this.#grace);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#viewers > 0) return;
      this.#grace = setTimeout(() => {
        for (const { question } of this.list) question.answer(undefined);
      }, GRACE_MS).unref();
    };
  }
}
