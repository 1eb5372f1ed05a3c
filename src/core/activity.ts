import type { JsonObject } from "./turn.ts";

/**
 * What an agent does on its own while it answers, or asks before it goes on. Only turns with `showsActivity` get these; in
 * others the driver shows tools as thinking, and answers questions by its policy.
 */
export type Activity = ToolActivity | PlanActivity | Question;

/** A tool that the agent runs itself. Sent again, with the same id, for each change. */
export interface ToolActivity {
  readonly type: "tool";
  readonly id: string;
  readonly title: string;
  readonly status: "pending" | "running" | "completed" | "failed";
  /** The tool call in ACP's form. */
  readonly detail: JsonObject;
}

/** The agent's plan. Each event has the whole plan. */
interface PlanActivity {
  readonly type: "plan";
  readonly entries: readonly JsonObject[];
}

/** The agent asks for permission, and waits for the answer. */
export interface Question {
  readonly type: "question";
  readonly id: string;
  readonly title: string;
  readonly options: readonly QuestionOption[];
  /** The tool call that the question is about, in ACP's form. */
  readonly detail: JsonObject;
  /** Answers with the id of an option; undefined declines. Only the first answer counts. */
  answer(optionId: string | undefined): void;
}

interface QuestionOption {
  readonly id: string;
  readonly name: string;
  readonly kind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
}
