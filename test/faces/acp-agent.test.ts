import { type CreateElicitationRequest, client, type SessionUpdate } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import type { RequestContext } from "../../src/core/driver.ts";
import type { Engine } from "../../src/core/engine/engine.ts";
import { ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import type { KeptSession, KeptSessions } from "../../src/core/history/kept-sessions.ts";
import type { Turn } from "../../src/core/turn.ts";
import { createAcpAgent } from "../../src/faces/acp-agent/agent.ts";
import { runEditorTool } from "../../src/faces/acp-agent/editor-tools.ts";

type Answer = (turn: Turn, context: RequestContext) => AsyncIterable<readonly TurnEvent[]>;

const DONE: readonly TurnEvent[] = [{ type: "done", reason: "stop" }];

/** What outlives an editor here. */
function createMemory(): KeptSessions {
  const kept = new Map<string, KeptSession>();
  return {
    keep: (_, session) => void kept.set(session.id, session),
    find: (_, id) => kept.get(id),
    list: (_, folder) =>
      [...kept.values()]
        .filter((session) => folder === undefined || session.folder === folder)
        .map((session) => ({ ...session, updatedAt: new Date(0) })),
    forget: (_, id) => void kept.delete(id),
  };
}

/** An editor without files and terminals, in front of an engine that a test writes. */
async function setUp(
  answer: Answer,
  elicitation?: (request: CreateElicitationRequest) => object,
  memory = createMemory(),
) {
  const turns: Turn[] = [];
  const updates: SessionUpdate[] = [];
  const engine: Pick<Engine, "run" | "listModels" | "listCommands"> = {
    run: (turn, context) => {
      turns.push(turn);
      return answer(turn, context);
    },
    listModels: async () => [],
    listCommands: async () => [],
  };
  const principal = { id: "owner", token: undefined };
  const app = createAcpAgent({ engine, principal, model: "auto", version: "1", memory });
  const { agent } = client()
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .onRequest("elicitation/create", ({ params }) => (elicitation?.(params) ?? {}) as never)
    .connect(app);
  await agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: elicitation ? { elicitation: { form: {} } } : {},
  });
  const { sessionId } = await agent.request("session/new", { cwd: "/project", mcpServers: [] });
  return { agent, sessionId, turns, updates };
}

describe("Excursor as an agent", () => {
  it("brings everything that an editor can put into a prompt to the model", async () => {
    const { agent, sessionId, turns } = await setUp(async function* () {
      yield DONE;
    });
    await agent.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "look" },
        { type: "image", mimeType: "image/png", data: "AQID" },
        { type: "resource", resource: { uri: "file:///a.ts", text: "let a" } },
        { type: "resource", resource: { uri: "file:///a.bin", blob: "AQID" } },
        { type: "resource_link", name: "b.ts", uri: "file:///b.ts" },
      ],
    });
    expect(turns[0]?.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", mediaType: "image/png", data: Buffer.from([1, 2, 3]) },
          { type: "file", name: "file:///a.ts", text: "let a" },
          { type: "text", text: "[A file that is not text: file:///a.bin]" },
          { type: "text", text: "[b.ts](file:///b.ts)" },
        ],
      },
    ]);
  });

  it("offers no tools that the editor does not have", async () => {
    const { agent, sessionId, turns } = await setUp(async function* () {
      yield DONE;
    });
    await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    expect(turns[0]?.tools).toEqual([]);
  });

  it.each([
    ["read_file", { path: { toString: 1 } }, "path: expected a string, got an object."],
    ["write_file", { path: "/a", content: [] }, "content: expected a string, got an array."],
    ["terminal", { command: 7 }, "command: expected a string, got a number."],
  ])("tells the model of an argument of %s that is no text", async (name, args, expected) => {
    const call = { type: "tool-call", id: "1", name, args } as const;
    // Neither the editor nor its user hears of it.
    const { content, isError } = await runEditorTool(call, {} as never, {} as never);
    expect({ content, isError }).toEqual({ content: [{ type: "text", text: expected }], isError: true });
  });

  const asks: Answer = async function* (_, { elicit, signal }) {
    const schema = { type: "object", properties: { name: { type: "string" } } };
    const answer = await elicit?.({ server: "s", message: "Who?", schema }, signal);
    yield [{ type: "text", text: JSON.stringify(answer ?? null) }];
    yield DONE;
  };

  it.each([
    [
      { action: "accept", content: { name: "Ann" } },
      { action: "accept", content: { name: "Ann" } },
    ],
    [{ action: "decline" }, { action: "decline" }],
    [{ action: "cancel" }, { action: "cancel" }],
  ])("lets the user answer the questions of tools: %j", async (given, expected) => {
    const { agent, sessionId, updates } = await setUp(asks, ({ message }) => {
      expect(message).toBe("Who?");
      return given;
    });
    await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    expect(updates).toContainEqual({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: JSON.stringify(expected) },
    });
  });

  it("asks nothing of an editor that cannot show a form", async () => {
    const { agent, sessionId, updates } = await setUp(asks);
    await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    expect(updates).toContainEqual({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "null" } });
  });

  it("has no two turns of one conversation at once", async () => {
    const { agent, sessionId } = await setUp(async function* (_, { signal }) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield DONE;
    });
    const prompt = [{ type: "text" as const, text: "hi" }];
    const first = agent.request("session/prompt", { sessionId, prompt });
    await expect(agent.request("session/prompt", { sessionId, prompt })).rejects.toMatchObject({ code: -32_600 });
    await agent.notify("session/cancel", { sessionId });
    expect(await first).toEqual({ stopReason: "cancelled" });
  });
});

describe("a conversation that is gone on with", () => {
  const says: Answer = async function* ({ messages }) {
    const call = { id: "c1", name: "nope", args: { a: 1 } };
    if (messages.at(-1)?.role === "user" && messages.length === 1) {
      yield [
        { type: "text", text: "let me see" },
        { type: "tool-call", ...call },
        { type: "done", reason: "tool-calls" },
      ];
    } else yield [{ type: "text", text: "that is it" }, ...DONE];
  };
  const prompt = [
    { type: "text" as const, text: "look   at\nthis" },
    { type: "image" as const, mimeType: "image/png", data: "AQID" },
  ];

  it("is told again to the editor that loads it, and whole to the model", async () => {
    const memory = createMemory();
    const first = await setUp(says, undefined, memory);
    const { sessionId } = first;
    await first.agent.request("session/prompt", { sessionId, prompt });

    const { agent, turns, updates } = await setUp(says, undefined, memory);
    expect(await agent.request("session/list", { cwd: "/project" })).toEqual({
      sessions: [{ sessionId, cwd: "/project", title: "look at this", updatedAt: "1970-01-01T00:00:00.000Z" }],
    });
    expect(await agent.request("session/list", { cwd: "/other" })).toEqual({ sessions: [] });
    await agent.request("session/load", { sessionId, cwd: "/project", mcpServers: [] });
    expect(updates).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "look   at\nthis" } },
      { sessionUpdate: "user_message_chunk", content: { type: "image", mimeType: "image/png", data: "AQID" } },
      { sessionUpdate: "agent_message_chunk", content: { text: "let me see" } },
      { sessionUpdate: "tool_call", toolCallId: "c1", title: "nope", status: "failed", rawInput: { a: 1 } },
      { sessionUpdate: "agent_message_chunk", content: { text: "that is it" } },
    ]);
    await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "and?" }] });
    expect(turns.at(-1)?.messages.slice(0, 4)).toEqual(
      first.turns
        .at(-1)
        ?.messages.concat()
        .slice(0, 3)
        .concat([{ role: "assistant", content: [{ type: "text", text: "that is it" }] }]),
    );
  });

  it("is not told again by a mere resume, and is gone when it was deleted", async () => {
    const memory = createMemory();
    const { sessionId, agent: before } = await setUp(says, undefined, memory);
    await before.request("session/prompt", { sessionId, prompt });
    const { agent, turns, updates } = await setUp(says, undefined, memory);
    await agent.request("session/resume", { sessionId, cwd: "/project" });
    expect(updates).toEqual([]);
    await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "and?" }] });
    expect(turns.at(-1)?.messages).toHaveLength(5);
    await agent.request("session/delete", { sessionId });
    await expect(agent.request("session/load", { sessionId, cwd: "/p", mcpServers: [] })).rejects.toMatchObject({
      code: -32_002,
    });
  });

  it("is kept from its first answer on, also a cancelled one; an unanswered question is not", async () => {
    const listed = async (answer: Answer, isCancelled = false) => {
      const { agent, sessionId } = await setUp(answer);
      const asked = agent.request("session/prompt", { sessionId, prompt }).catch(() => undefined);
      if (isCancelled) await agent.notify("session/cancel", { sessionId });
      await asked;
      const { sessions } = await agent.request("session/list", {});
      return sessions.length;
    };
    const fails: Answer = async function* () {
      yield [];
      throw new ExcursorError("upstream-failed", "It failed.");
    };
    const waits: Answer = async function* (_, { signal }) {
      yield [];
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    };
    expect([await listed(says), await listed(waits, true), await listed(fails)]).toEqual([1, 1, 0]);
  });

  it("stays deleted, whatever was under way", async () => {
    const { agent, sessionId } = await setUp(async function* (_, { signal }) {
      yield [{ type: "text", text: "so: " }];
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield DONE;
    });
    const answer = agent.request("session/prompt", { sessionId, prompt });
    await agent.request("session/delete", { sessionId });
    expect(await answer).toEqual({ stopReason: "cancelled" });
    expect(await agent.request("session/list", {})).toEqual({ sessions: [] });
  });

  it("that nobody knows is refused, and one that is open stays open then", async () => {
    const { agent, sessionId } = await setUp(says);
    for (const id of ["no-such-session", sessionId]) {
      const load = { sessionId: id, cwd: "/project", mcpServers: [] };
      await expect(agent.request("session/load", load)).rejects.toMatchObject({ code: -32_002 });
    }
    expect(await agent.request("session/prompt", { sessionId, prompt })).toEqual({ stopReason: "end_turn" });
  });
});
