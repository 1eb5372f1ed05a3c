import { describe, expect, it } from "vitest";
import type { AgentUpdate } from "../../../src/drivers/acp/read-update.ts";
import { UpdateEvents } from "../../../src/drivers/acp/update-events.ts";
import { thinkingIn } from "./support/agent-stage.ts";

const thought = (text: string): AgentUpdate => ({
  sessionUpdate: "agent_thought_chunk",
  content: { type: "text", text },
});
const said = (text: string): AgentUpdate => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const tool = (status: "pending" | "completed"): AgentUpdate => ({
  sessionUpdate: status === "pending" ? "tool_call" : "tool_call_update",
  toolCallId: "t1",
  title: "Read a",
  status,
});
const plan = (...entries: [content: string, status: string][]): AgentUpdate => ({
  sessionUpdate: "plan",
  entries: entries.map(([content, status]) => ({ content, status, priority: "high" })),
});

/** Steps with the time at which each one comes. */
function play(
  showsActivity: boolean,
  ...steps: readonly (readonly [atMs: number, update: AgentUpdate | "question"])[]
) {
  let now = 0;
  const events = new UpdateEvents(showsActivity, () => now);
  const all = steps.flatMap(([atMs, update]) => {
    now = atMs;
    return update === "question" ? events.interrupt() : events.step(update);
  });
  return [...all, ...events.end()];
}

const durations = (events: ReturnType<typeof play>) =>
  events.flatMap((event) => (event.type === "thinking-done" ? [event.durationMs] : []));

describe("how long an agent has thought", () => {
  const steps = [
    [0, thought("hm")],
    [1000, thought(" well")],
    [2000, tool("pending")],
    [60_000, tool("completed")],
    [61_000, thought("so")],
    [61_500, "question"],
    [600_000, said("Done.")],
  ] as const;

  it("counts neither tools nor questions where those are shown as themselves: each ends its block", () => {
    const events = play(true, ...steps);
    expect(durations(events)).toEqual([2000, 500]);
    expect(events.map(({ type }) => type)).toEqual([
      ...["thinking", "thinking", "thinking-done", "activity", "activity"],
      ...["thinking", "thinking-done", "text"],
    ]);
  });

  it("counts neither where they are lines of one block of thinking", () => {
    expect(durations(play(false, ...steps))).toEqual([2500]);
  });

  it("is nothing where only tools were shown", () => {
    expect(durations(play(false, [0, tool("pending")], [5000, said("Done.")]))).toEqual([0]);
  });
});

describe("the plan of an agent", () => {
  it("is thinking for who can show no plans: told once, then what has changed", () => {
    const events = play(
      false,
      [0, plan(["Look", "in_progress"], ["Repair", "pending"])],
      [1, plan(["Look", "in_progress"], ["Repair", "pending"])],
      [2, plan(["Look", "completed"], ["Repair", "in_progress"])],
      [3, said("Done.")],
    );
    expect(thinkingIn(events)).toBe("[Plan]\n- [>] Look\n- [ ] Repair\n" + "[Plan]\n- [x] Look\n- [>] Repair\n");
    expect(events.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "Done." }]);
  });
});
