import { isDeepStrictEqual } from "node:util";
import type { Call } from "./conversation.ts";
import type { Step } from "./step.ts";

/**
 * Returns how many steps the history shows as done, so that a replayed conversation continues where the first one
 * stopped.
 *
 * Calls are matched by name and arguments, because calls of a batch may have changed places. A call that matches none
 * belongs to the next native `exec`: gateways map native requests to tools of their clients, whose names and arguments
 * are unknown here.
 */
export function stepsDone(
  steps: readonly Step[],
  calls: readonly Pick<Call, "name" | "args">[],
  isSameTool = sameName,
): number {
  const matched = new Set<number>();
  const begun = new Set<number>();
  let done = 0;
  for (const call of calls) {
    const own = steps.findIndex(
      (step, index) =>
        !matched.has(index) &&
        step.type === "call" &&
        isSameTool(step.name, call.name) &&
        isDeepStrictEqual(step.args, call.args),
    );
    const index = own >= 0 ? own : steps.findIndex((step, at) => at >= done && step.type === "exec");
    if (index < 0) continue;
    const step = steps[index];
    if (step?.type === "exec" && step.exec === "edit" && !begun.has(index)) {
      // It is two requests: the read, and the write.
      begun.add(index);
      continue;
    }
    matched.add(index);
    done = Math.max(done, index + 1);
  }
  return done;
}

const sameName = (a: string, b: string): boolean => a === b;
