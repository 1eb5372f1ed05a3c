import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Driver } from "../../src/core/driver.ts";
import type { CallEntry } from "../../src/core/engine/call-log.ts";
import { createEngine } from "../../src/core/engine/engine.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import type { AssistantMessage, Message, ToolMessage } from "../../src/core/turn.ts";
import { ModelRun, ROUNDS } from "./support/model-run.ts";
import { aTurn, gather, textIn } from "./support/turns.ts";

const TTL_MS = 1000;

/** What a client, its network or the backend may do to one request of a task. */
const INCIDENTS = [
  "none",
  "leaves before the first event",
  "leaves after the first event",
  "sends it twice",
  "edits the question",
  "leaves out a result",
  "turns the results around",
  "waits too long",
  "backend dies while it waits",
  "backend dies at the results",
  "backend dies after a word",
] as const;
type Incident = (typeof INCIDENTS)[number];

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/**
 * Clients with tasks of several rounds of tools, side by side before one engine, in any order of everything that is
 * asynchronous. The model of what must hold is in the checks: it knows which result belongs to which call.
 */
it("whatever happens in whatever order, no run is left and each result comes once (FUZ-08, REL-40, SEC-30)", async () => {
  const tasks = fc.array(fc.array(fc.constantFrom(...INCIDENTS), { maxLength: 8 }), { minLength: 1, maxLength: 4 });
  const limits = fc.record({
    runs: fc.constantFrom(1, 2, 100),
    runsPerPrincipal: fc.constantFrom(1, 100),
  });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), tasks, limits, async (scheduler, incidents, { runs, runsPerPrincipal }) => {
      const all: ModelRun[] = [];
      const callLog: CallEntry[] = [];
      const driver: Driver = {
        listModels: async () => [],
        open: (turn, context) => {
          const run = new ModelRun(turn, context, (label) => scheduler.schedule(Promise.resolve(), label));
          all.push(run);
          return run;
        },
      };
      const engine = createEngine({
        drivers: new Map([["d", driver]]),
        route: () => "d",
        parking: {
          ttlMs: TTL_MS,
          pausedMs: TTL_MS,
          runs,
          runsPerPrincipal,
          bytes: 2 ** 30,
          bytesPerPrincipal: 2 ** 30,
        },
        callLog: (entry) => callLog.push(entry),
      });
      const clients = incidents.map((list, n) => {
        const principal = { id: `p${n % 2}`, token: undefined };
        const task = `task${n}`;
        const newest = () => all.findLast((run) => run.task === task);
        return runTask(
          list,
          task,
          (messages, signal) => engine.run(aTurn({ messages, principal, tools: [TOOL] }), { requestId: task, signal }),
          newest,
        );
      });
      await scheduler.waitFor(Promise.all(clients));
      vi.advanceTimersByTime(TTL_MS);
      // Copies that were sent twice may still be answered.
      await scheduler.waitIdle();
      vi.advanceTimersByTime(TTL_MS);

      expect(all.filter(({ isOver }) => !isOver)).toEqual([]);
      expect(all.flatMap(({ wrongs }) => wrongs)).toEqual([]);
      expect(unsettled(callLog)).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 300 },
  );
}, 60_000);

const TOOL = { name: "look", description: "", schema: { type: "object" } } as const;

type Ask = (messages: readonly Message[], signal: AbortSignal) => AsyncIterable<readonly TurnEvent[]>;

/** One client: its task comes to its end, with every result, whatever the incidents on the way. */
async function runTask(
  incidents: readonly Incident[],
  task: string,
  ask: Ask,
  newest: () => ModelRun | undefined,
): Promise<void> {
  const left = [...incidents];
  const answered = new Set<string>();
  let messages: readonly Message[] = [user(task)];
  for (;;) {
    const incident = left.shift() ?? "none";
    const request = prepare(messages, incident);
    if (incident === "waits too long") vi.advanceTimersByTime(TTL_MS);
    if (incident.startsWith("backend dies")) newest()?.dieNext(incident);
    const gone = new AbortController();
    if (incident === "leaves before the first event") gone.abort();
    if (incident === "sends it twice") void gather(ask(request, gone.signal)).catch(() => {});
    const events: TurnEvent[] = [];
    try {
      for await (const batch of ask(request, gone.signal)) {
        events.push(...batch);
        if (incident === "leaves after the first event") gone.abort();
      }
    } catch {
      continue;
    }
    // It has been answered as if a result were not to be had; the client knows better, and asks again.
    if (incident === "leaves out a result") continue;
    const calls = events.filter((event) => event.type === "tool-call");
    for (const { args } of calls) expect(answered, "asked again for what was answered").not.toContain(args["key"]);
    if (calls.length === 0) {
      expect(textIn(events), "a result was lost").toBe(expectedText(task));
      return;
    }
    const answer: AssistantMessage = {
      role: "assistant",
      content: [...(textIn(events) === "" ? [] : [{ type: "text" as const, text: textIn(events) }]), ...calls],
    };
    const results = calls.map(({ id, args }): ToolMessage => {
      answered.add(String(args["key"]));
      return { role: "tool", callId: id, content: [{ type: "text", text: `r:${args["key"]}` }], isError: false };
    });
    messages = [...messages, answer, ...results];
  }
}

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });

function prepare(messages: readonly Message[], incident: Incident): readonly Message[] {
  if (incident === "edits the question")
    return messages.map((message, n) => (n === 0 ? user(`${textOfFirst(messages)} `) : message));
  if (incident === "leaves out a result" && messages.at(-1)?.role === "tool") return messages.slice(0, -1);
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  if (incident === "turns the results around") return [...messages.slice(0, start), ...messages.slice(start).reverse()];
  return messages;
}

const textOfFirst = ([first]: readonly Message[]): string =>
  first?.content.map((part) => ("text" in part ? part.text : "")).join("") ?? "";

const expectedText = (task: string): string =>
  ROUNDS.flatMap((count, round) => Array.from({ length: count }, (_, n) => `r:${task}/${round}/${n}`)).join(" ");

/** Calls that were asked and not exactly once answered or lost. */
function unsettled(callLog: readonly CallEntry[]): string[] {
  const fates = Map.groupBy(
    callLog.filter(({ type }) => type !== "replayed"),
    ({ callId }) => callId,
  );
  return [...fates]
    .filter(([, entries]) => entries.map(({ type }) => type === "asked").join() !== "true,false")
    .map(([id]) => id);
}
