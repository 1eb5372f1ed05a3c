import type { JsonObject } from "./turn.ts";

/**
 * What an upstream does by itself while it answers, or must be told before it goes on. Only turns that say so are shown
 * any (`Turn.showsActivity`); all others see it as thinking, and nobody is asked.
 */
export type Activity = ToolActivity | PlanActivity | Question;

/** A tool that the upstream runs itself. Comes again, under the same id, whenever something about it has changed. */
export interface ToolActivity {
  readonly type: "tool";
  readonly id: string;
  readonly title: string;
  readonly status: "pending" | "running" | "completed" | "failed";
  /** All that is known of it, in the words of ACP's tool calls. */
  readonly detail: JsonObject;
}

/** What it means to do: whole each time. */
interface PlanActivity {
  readonly type: "plan";
  readonly entries: readonly JsonObject[];
}

/** It wants to be allowed something, and waits. */
export interface Question {
  readonly type: "question";
  readonly id: string;
  readonly title: string;
  readonly options: readonly QuestionOption[];
  /** The tool call it is about, in the words of ACP. */
  readonly detail: JsonObject;
  /** With the id of an option, or with nothing to decline. Only the first answer counts. */
  answer(optionId: string | undefined): void;
}

interface QuestionOption {
  readonly id: string;
  readonly name: string;
  readonly kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
}
