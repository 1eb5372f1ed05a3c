import { expect, it } from "vitest";
import type { Turn } from "../../../../src/core/turn.ts";
import { createServeRun } from "../../../../src/faces/cursor/run/serve-run.ts";
import { AgentMode } from "../../../../src/gen/agent/v1/agent_mode_pb.ts";
import { CursorClient } from "../support/cursor-client.ts";
import { CALLS, call, engineWith, STOP, say } from "../support/models.ts";

const MCP_TOOL = { name: "server-add", toolName: "add", providerIdentifier: "server", description: "Adds." };

function setUp() {
  const { engine, turns } = engineWith((_, nth) =>
    nth === 0 ? [call("c", "shell", { command: "touch made" }), CALLS] : [say("ok"), STOP],
  );
  const client = new CursorClient({ folder: "/nowhere", serve: createServeRun({ engine }) });
  const ask = (mode: AgentMode, kind: "userMessageAction" | "startPlanAction" = "userMessageAction") =>
    client.run({
      action: { action: { case: kind, value: { userMessage: { text: "go", mode } } } },
      ...(client.state && { conversationState: client.state }),
      mcpTools: { mcpTools: [MCP_TOOL] },
    });
  return { client, turns, ask };
}

const namesOf = (turn: Turn | undefined) => turn?.tools.map(({ name }) => name);

const READING = ["read", "ls", "grep", "glob", "todo", "add"];

it.each([
  ["ask", AgentMode.ASK, "userMessageAction"],
  ["plan", AgentMode.PLAN, "userMessageAction"],
  ["a started plan", AgentMode.UNSPECIFIED, "startPlanAction"],
] as const)("offers no tool that changes something in the mode %s, and says so", async (_, mode, kind) => {
  const { client, turns, ask } = setUp();
  await ask(mode, kind).ended;
  expect(namesOf(turns[0])).toEqual(READING);
  expect(turns[0]?.system).toContain("Change nothing");
  expect(client.executed).toEqual([]);
});

it("keeps to the mode when a dropped stream resumes, and leaves it with a message in another one", async () => {
  const { client, turns, ask } = setUp();
  const run = ask(AgentMode.PLAN);
  run.cutAt = (kind) => kind === "toolCallCompleted";
  await run.ended;
  await client.resume({ mcpTools: { mcpTools: [MCP_TOOL] } }).ended;
  expect(namesOf(turns[1])).toEqual(READING);
  await client.run({
    runId: "run-2",
    action: { action: { case: "userMessageAction", value: { userMessage: { text: "do it", mode: AgentMode.AGENT } } } },
    ...(client.state && { conversationState: client.state }),
  }).ended;
  expect(namesOf(turns[2])).toContain("shell");
  expect(turns[2]?.system).not.toContain("Change nothing");
});
