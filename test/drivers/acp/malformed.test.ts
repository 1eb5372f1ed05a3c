import { describe, expect, it } from "vitest";
import { setUpHostileAgent, update } from "./support/hostile-stage.ts";

const answer = (response: object) => JSON.stringify({ jsonrpc: "2.0", id: "$id", ...response });

const PROTOCOL = { kind: "upstream-protocol", code: "agent_protocol" };

/** Nested arrays as JSON text; JSON.stringify could not write them. */
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("an agent whose answers are malformed", () => {
  it.each([
    ["no result", {}],
    ["null", { result: null }],
    ["a text", { result: "end_turn" }],
    ["no stopReason", { result: {} }],
    ["a stopReason of null", { result: { stopReason: null } }],
    ["a stopReason that is no text", { result: { stopReason: { toString: 1 } } }],
    ["an empty stopReason", { result: { stopReason: "" } }],
    ["an error without a code", { error: {} }],
  ])("ends the turn with a typed error: session/prompt answered with %s", async (_, response) => {
    const { ask } = setUpHostileAgent();
    const { text, error } = await ask([
      update({ sessionUpdate: "agent_message_chunk", content: said("half") }),
      answer(response),
    ]);
    expect(text).toBe("half");
    expect(error).toMatchObject(PROTOCOL);
    expect((await ask("plain")).text).toBe("plain");
  });

  it("ends the turn plainly for a reason that only a newer agent has, and says so", async () => {
    const { ask } = setUpHostileAgent();
    const { events, error } = await ask([answer({ result: { stopReason: "__proto__" } })]);
    expect(error).toBeUndefined();
    expect(events).toContainEqual(expect.objectContaining({ type: "notice", code: "agent_stop_reason" }));
    expect(events.at(-1)).toEqual({ type: "done", reason: "stop" });
  });

  it.each([
    ["initialize", { result: null }, "without an object"],
    ["initialize", { result: {} }, "protocolVersion"],
    ["initialize", { result: { protocolVersion: "1" } }, "protocolVersion"],
    ["session/new", { result: null }, "without an object"],
    ["session/new", { result: {} }, "sessionId"],
    ["session/new", { result: { sessionId: 7 } }, "sessionId"],
  ])("names the request and the field: %s answered with %j", async (method, response, what) => {
    const { ask } = setUpHostileAgent({ [method]: response });
    const { error } = await ask("plain");
    expect(error).toMatchObject({ ...PROTOCOL, message: expect.stringContaining(method) });
    expect(error).toMatchObject({ message: expect.stringContaining(what) });
  });

  it.each([
    ["initialize", { protocolVersion: 1, agentCapabilities: "all" }],
    ["initialize", { protocolVersion: 1, agentCapabilities: { promptCapabilities: 1, sessionCapabilities: [] } }],
    ["session/new", { sessionId: "s1", configOptions: "none" }],
    [
      "session/new",
      { sessionId: "s1", configOptions: [null, { id: 1 }, { id: "m", category: "model", options: [0] }] },
    ],
  ])("does without what it can do without: %s answered with %j", async (method, result) => {
    const { ask } = setUpHostileAgent({ [method]: { result } });
    expect((await ask("plain")).text).toBe("plain");
    const { error } = await ask("plain", { model: { id: "acp:test/large", effort: undefined } });
    expect(error).toMatchObject({ kind: "model-not-found" });
  });

  it("is ended when a message nests too deep, and starts again", async () => {
    const { ask } = setUpHostileAgent();
    const deep = update({ sessionUpdate: "tool_call", toolCallId: "t", title: "T", rawInput: "DEEP" });
    const { error } = await ask([deep.replace('"DEEP"', nested(100_000))], { showsActivity: true });
    expect(error).toMatchObject(PROTOCOL);
    expect((await ask("plain")).text).toBe("plain");
  });

  it.each([
    { toolCall: { toolCallId: "t" } },
    { toolCall: { toolCallId: "t" }, options: [] },
    { toolCall: { toolCallId: "t" }, options: [{ optionId: "yes" }] },
    { toolCall: null, options: null },
    { options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }] },
  ])("is allowed nothing by a permission request of the wrong form: %j", async (params) => {
    const { ask, sent } = setUpHostileAgent({}, { permissions: { allow: ["*"], others: "ask" } });
    const request = {
      jsonrpc: "2.0",
      id: "p1",
      method: "session/request_permission",
      params: { sessionId: "$session", ...params },
    };
    await ask([JSON.stringify(request), answer({ result: { stopReason: "end_turn" } })]);
    expect(await sent("p1")).not.toContain("selected");
  });
});

const said = (text: string) => ({ type: "text", text });
