import { isDeepStrictEqual } from "node:util";
import type { Call } from "./conversation.ts";
import type { Step } from "./step.ts";

/**
 * How many steps the history shows as done: a replayed conversation goes on where the first one stopped.
 *
 * Calls are matched in order by name and arguments. A call that matches none belongs to the next native `exec`,
 * since gateways map native requests to tools of their clients, whose names and arguments nobody here knows.
 */
export function stepsDone(steps: readonly Step[], calls: readonly Call[], isSameTool = sameName): number {
  let done = 0;
  for (const call of calls) {
    const match = (accept: (step: Step) => boolean) => steps.findIndex((step, index) => index >= done && accept(step));
    const own = match(
      (step) => step.type === "call" && isSameTool(step.name, call.name) && isDeepStrictEqual(step.args, call.args),
    );
    const index = own >= 0 ? own : match((step) => step.type === "exec");
    if (index >= 0) done = index + 1;
  }
  return done;
}

const sameName = (a: string, b: string): boolean => a === b;
