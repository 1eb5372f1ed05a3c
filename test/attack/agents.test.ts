import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setUpHostileAgent, update } from "../drivers/acp/support/hostile-stage.ts";

/** Each property gives up here, whatever the machine has managed by then. */
const TIME_LIMIT_MS = 25_000;

/** What a caller may be told of a bad agent. `internal` is not among them: that would be a fault of ours. */
const HONEST = ["upstream-protocol", "upstream-failed", "upstream-unavailable", "timeout", "canceled"];

const request = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: "q1", method, params: { sessionId: "$session", ...params } });

const END = JSON.stringify({ jsonrpc: "2.0", id: "$id", result: { stopReason: "end_turn" } });

const toolCall = { toolCallId: "t1", title: "Read a", kind: "read", status: "pending", rawInput: { path: "a" } };

/** One good message of every kind that an agent may send during a turn. */
const MESSAGES = [
  update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } }),
  update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }),
  update({ sessionUpdate: "tool_call", ...toolCall, locations: [{ path: "/a", line: 1 }] }),
  update({ sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed", content: [] }),
  update({ sessionUpdate: "plan", entries: [{ content: "Look", priority: "high", status: "pending" }] }),
  update({ sessionUpdate: "available_commands_update", availableCommands: [{ name: "a", description: "b" }] }),
  update({ sessionUpdate: "usage_update", used: 1, size: 2 }),
  request("session/request_permission", {
    toolCall,
    options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
  }),
  request("fs/read_text_file", { path: "/etc/passwd" }),
  request("terminal/create", { command: "id" }),
  END,
];

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 1e308, "", "__proto__", "constructor", [], {}, [[[]]], { toString: 1 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constant(100_000).map((length) => "x".repeat(length)),
  fc.jsonValue({ maxDepth: 3 }),
);

type Change = {
  readonly at: number;
  readonly how: "delete" | "replace" | "repeat" | "rename";
  readonly value: unknown;
};

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(1000),
  how: fc.constantFrom("delete", "replace", "repeat", "rename"),
  value: oddValue,
});

/** Every place of a message, as the object that holds it and its key. */
function places(value: unknown, found: [Record<string, unknown>, string][] = []) {
  if (typeof value !== "object" || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push([value as Record<string, unknown>, key]);
    places((value as Record<string, unknown>)[key], found);
  }
  return found;
}

function apply(message: string, { at, how, value }: Change): string {
  const parsed = JSON.parse(message);
  const all = places(parsed);
  const [holder, key] = all[at % all.length] ?? [];
  if (!holder || key === undefined) return message;
  if (how === "delete") delete holder[key];
  else if (how === "replace") holder[key] = value;
  else if (how === "repeat") holder[key] = [holder[key], holder[key]];
  else {
    holder[JSON.stringify(value).slice(0, 30)] = holder[key];
    delete holder[key];
  }
  return JSON.stringify(parsed);
}

const badLine = fc
  .oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...MESSAGES), fc.array(change, { minLength: 1, maxLength: 3 })) },
    { weight: 1, arbitrary: fc.tuple(fc.string({ unit: "binary", maxLength: 50 }), fc.constant([])) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom("[]", "{", "null", '{"jsonrpc":"2.0"}', "[".repeat(5000)), fc.constant([])),
    },
  )
  .map(([message, changes]) => changes.reduce(apply, message));

beforeEach(() => {
  // The SDK prints every message that it cannot use.
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

describe("agents that send anything", () => {
  it("end every turn honestly, and are of use again for the next one", async () => {
    const { ask } = setUpHostileAgent({}, { permissions: { allow: ["read"], others: "ask" } });
    const turn = fc.record({
      lines: fc.array(fc.oneof(badLine, fc.constantFrom(...MESSAGES.slice(0, -1))), { maxLength: 6 }),
      showsActivity: fc.boolean(),
    });
    let turns = 0;
    await fc.assert(
      fc.asyncProperty(turn, async ({ lines, showsActivity }) => {
        turns++;
        const { events, error } = await ask([...lines, END], { showsActivity });
        expect(() => JSON.stringify(events)).not.toThrow();
        if (error) expect(HONEST).toContain((error as { kind?: string }).kind);
        else expect(events.at(-1)).toMatchObject({ type: "done" });
        // Lines that come after the end of a turn may end the process in the middle of the next one.
        const next = await ask("plain");
        if (next.error) expect(HONEST).toContain((next.error as { kind?: string }).kind);
        expect(next.error ? (await ask("plain")).text : next.text).toBe("plain");
      }),
      { numRuns: 1500, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
    expect(turns).toBeGreaterThan(10);
  });

  it("never get as far as a turn, or get through it, whatever their handshake says", async () => {
    const good = {
      initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true, promptCapabilities: { image: true } } },
      "session/new": {
        sessionId: "s1",
        configOptions: [{ id: "model", category: "model", type: "select", options: [{ value: "a", name: "A" }] }],
      },
    };
    const handshake = fc.record({
      method: fc.constantFrom("initialize" as const, "session/new" as const),
      changes: fc.array(change, { minLength: 1, maxLength: 2 }),
      model: fc.constantFrom("acp:test", "acp:test/a", "acp:test/b"),
    });
    await fc.assert(
      fc.asyncProperty(handshake, async ({ method, changes, model }) => {
        const response = JSON.parse(changes.reduce(apply, JSON.stringify({ result: good[method] })));
        const stage = setUpHostileAgent({ [method]: response }, {}, { startMs: 5000 });
        const { error } = await stage.ask("plain", { model: { id: model, effort: undefined } });
        await stage.driver.close();
        if (error) expect([...HONEST, "model-not-found"]).toContain((error as { kind?: string }).kind);
      }),
      { numRuns: 300, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
  });
});
