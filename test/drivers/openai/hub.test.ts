import { expect, it } from "vitest";
import { createEngine } from "../../../src/core/engine/engine.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { ToolHub } from "../../../src/core/hub/tool-hub.ts";
import type { Message, Turn } from "../../../src/core/turn.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import { aTurn, gather, textIn } from "../../core/support/turns.ts";
import { driverOptions, LOOK } from "../support/open-driver.ts";
import { startOpenAiServer } from "../support/openai-server.ts";

const call = (index: number, id: string, name: string) => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: `{"n":${index}}` } }],
});

const hub: ToolHub = {
  open: async () => ({
    tools: [{ name: "hub__do", description: "does", schema: { type: "object", properties: {} } }],
    placeOf: () => undefined,
    call: async (_name, args) => ({ content: [{ type: "text", text: `did ${JSON.stringify(args)}` }], isError: false }),
  }),
};

type ToolCall = Extract<TurnEvent, { readonly type: "tool-call" }>;

/** What an upstream is told that has no memory of its own: everything, calls of ours and the client's in their places. */
it("an upstream without a memory is told what the hub did, turn for turn", async () => {
  const server = await startOpenAiServer(
    [{ content: "first" }, call(0, "h1", "hub__do")],
    [{ content: "second" }, call(0, "h2", "hub__do"), call(1, "c1", "look")],
    [call(0, "h3", "hub__do")],
    [{ content: "end" }],
  );
  const driver = createOpenAiDriver(driverOptions(`${server.url}/v1/`));
  const engine = createEngine({ drivers: new Map([["openai", driver]]), route: () => "openai", hub });
  const context = { requestId: "r", signal: new AbortController().signal, tools: "hub" as const };
  const turn = (messages: readonly Message[]): Turn => aTurn({ tools: [LOOK], messages });
  const opening = aTurn().messages;

  const first = await gather(engine.run(turn(opening), context));
  const calls = first.filter((event): event is ToolCall => event.type === "tool-call");
  expect([textIn(first), calls.map(({ name }) => name), first.at(-1)]).toEqual([
    "first\n\nsecond",
    ["look"],
    { type: "done", reason: "tool-calls" },
  ]);
  const [look] = calls;
  if (!look) throw new Error("no call");
  const followUp: Message[] = [
    ...opening,
    { role: "assistant", content: [{ type: "text", text: "first\n\nsecond" }, look] },
    { role: "tool", callId: look.id, content: [{ type: "text", text: "seen" }], isError: false },
  ];
  const second = await gather(engine.run(turn(followUp), context));
  expect([textIn(second), second.at(-1)]).toEqual(["end", { type: "done", reason: "stop" }]);
  // Four answers of the upstream, two of each in one of ours.
  for (const answer of [first, second]) {
    expect(answer.findLast(({ type }) => type === "usage")).toMatchObject({ usage: { inputTokens: 2 * 19 } });
  }

  const asked = server.calls.map(({ body }) =>
    body.messages.map(({ role, content, tool_calls: made, tool_call_id: id }: never & Record<string, unknown>) => {
      const names = (made as { id: string }[] | undefined)?.map((one) => one.id);
      return [role, content, ...(names ? [names] : []), ...(id ? [id] : [])];
    }),
  );
  const user = ["user", "hi"];
  const legs = [
    ["assistant", "first", ["h1"]],
    ["tool", 'did {"n":0}', "h1"],
  ];
  const mixed = [
    ["assistant", "second", ["h2", look.id]],
    ["tool", 'did {"n":0}', "h2"],
    ["tool", "seen", look.id],
  ];
  expect(asked[0]).toEqual([user]);
  expect(asked[1]).toEqual([user, ...legs]);
  expect(asked[2]).toEqual([user, ...legs, ...mixed]);
  expect(asked[3]?.slice(0, 6)).toEqual([user, ...legs, ...mixed]);
  expect(asked[3]?.slice(6).map(([role]: string[]) => role)).toEqual(["assistant", "tool"]);
  expect(server.calls[0]?.body.tools).toHaveLength(2);
});
