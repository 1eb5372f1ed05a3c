import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../../src/core/errors.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import { type Turn, textOf } from "../../../../src/core/turn.ts";
import { createServeRun } from "../../../../src/faces/cursor/run/serve-run.ts";
import {
  ConversationSummaryArchiveSchema,
  ConversationSummarySchema,
} from "../../../../src/gen/agent/v1/conversation_pb.ts";
import { CursorClient } from "../support/cursor-client.ts";
import { CALLS, call, engineWith, STOP, say } from "../support/models.ts";
import { LOCAL, setUpSim } from "../support/stage.ts";

type Answer = readonly TurnEvent[] | Promise<readonly TurnEvent[]>;

const SUMMARIZE = { action: { case: "summarizeAction" as const, value: {} } };

const isAskedFor = ({ messages }: Turn) => textOf(messages.at(-1)?.content ?? []).startsWith("Summarize this");
const textsOf = (turn: Turn | undefined) => turn?.messages.map(({ role, content }) => `${role} ${textOf(content)}`);

function open(summary: () => Answer = () => [say("They said "), say("hello."), STOP]) {
  const { engine, turns } = engineWith((turn) => (isAskedFor(turn) ? summary() : [say("Yes?"), STOP]));
  return { client: new CursorClient({ folder: "", serve: createServeRun({ engine }) }), turns };
}

describe("a conversation that is summarized", () => {
  it("shows the summary, and continues from it instead of from the turns", async () => {
    const { client, turns } = open();
    await client.ask("first").ended;
    await client.ask("second", { runId: "run-2" }).ended;
    const before = client.state;
    const run = client.ask("", { action: SUMMARIZE, runId: "run-3" });
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(run.kinds.filter((kind) => !/^(kv|exec)/.test(kind))).toEqual([
      "summaryStarted",
      "summary",
      "summaryCompleted",
      "turnEnded",
      "conversationCheckpointUpdate",
    ]);
    expect(run.updates.find((update) => update.case === "summary")?.value).toMatchObject({
      summary: "They said hello.",
    });
    expect(turns[2]?.toolChoice).toEqual({ type: "none" });
    expect(turns[2]?.tools).toEqual(turns[1]?.tools);
    expect(turns[2]?.messages.slice(0, 4).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);

    const blob = (id: Uint8Array | undefined) => client.blobs.get(Buffer.from(id ?? []).toString("hex")) ?? Buffer.of();
    const { state } = client;
    expect(state?.turns).toEqual(before?.turns);
    expect(state?.rootPromptMessagesJson).toHaveLength(1);
    expect(state?.selfSummaryCount).toBe(1);
    expect(fromBinary(ConversationSummarySchema, blob(state?.summary)).summary).toBe("They said hello.");
    expect(state?.summaryArchives).toEqual([state?.summaryArchive]);
    const archive = fromBinary(ConversationSummaryArchiveSchema, blob(state?.summaryArchive));
    expect(archive.summarizedMessages).toEqual(before?.rootPromptMessagesJson);
    expect(archive.summaryMessage).toEqual(state?.rootPromptMessagesJson[0]);

    await client.ask("third", { runId: "run-4" }).ended;
    await client.ask("fourth", { runId: "run-5" }).ended;
    expect(textsOf(turns[4])).toEqual([
      expect.stringContaining("They said hello."),
      "user third",
      "assistant Yes?",
      "user fourth",
    ]);
    expect(client.state?.turns).toHaveLength(4);
  });

  it("can be summarized again, with the earlier summary as a part of it", async () => {
    const { client, turns } = open();
    await client.ask("first").ended;
    await client.ask("", { action: SUMMARIZE, runId: "run-2" }).ended;
    await client.ask("second", { runId: "run-3" }).ended;
    await client.ask("", { action: SUMMARIZE, runId: "run-4" }).ended;
    expect(textsOf(turns.at(-1))?.slice(0, -1)).toEqual([
      expect.stringContaining("They said hello."),
      "user second",
      "assistant Yes?",
    ]);
    expect([client.state?.summaryArchives.length, client.state?.selfSummaryCount]).toEqual([2, 2]);
    await client.ask("third", { runId: "run-5" }).ended;
    expect(textsOf(turns.at(-1))).toHaveLength(2);
  });

  it("is not asked about again when a dropped stream resumes", async () => {
    const { client, turns } = open();
    await client.ask("first").ended;
    await client.ask("", { action: SUMMARIZE, runId: "run-2" }).ended;
    const { state } = client;
    const resumed = client.resume({ runId: "run-2" });
    await resumed.ended;
    expect([resumed.error, turns.length]).toEqual([undefined, 2]);
    expect(client.state).toEqual(state);
  });

  it("is summarized with calls that never got a result", async () => {
    const { engine, turns } = engineWith((turn, nth) =>
      nth === 0 ? [call("c1", "shell", { command: "x" }), CALLS] : isAskedFor(turn) ? [say("S"), STOP] : [STOP],
    );
    const client = new CursorClient({ folder: "", serve: createServeRun({ engine }), reply: () => "never" });
    const lost = client.ask("first");
    lost.cutAt = (kind) => kind === "execServerMessage" && lost.execs.length > 0;
    await lost.ended;
    const run = client.ask("", { action: SUMMARIZE, runId: "run-2" });
    await run.ended;
    expect([run.error, client.executed]).toEqual([undefined, []]);
    expect(turns[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it.each([
    ["says nothing", () => [STOP], "without a summary"],
    ["fails", () => Promise.reject(new ExcursorError("quota-exhausted", "No credit.")), "No credit."],
  ] as const)("stays as it is if the model %s", async (_how, summary, message) => {
    const { client, turns } = open(summary);
    await client.ask("first").ended;
    const { state } = client;
    const run = client.ask("", { action: SUMMARIZE, runId: "run-2" });
    await run.ended;
    expect(run.error?.message).toContain(message);
    expect(run.updates.at(-1)).toMatchObject({ case: "summaryCompleted", value: { failed: true } });
    expect(client.state).toBe(state);
    await client.ask("second", { runId: "run-3" }).ended;
    expect(textsOf(turns.at(-1))).toEqual(["user first", "assistant Yes?", "user second"]);
  });

  it("stays as it is if the user cancels", async () => {
    const { client } = open(() => new Promise<never>(() => {}));
    await client.ask("first").ended;
    const { state } = client;
    const run = client.ask("", { action: SUMMARIZE, runId: "run-2" });
    const cancel = {
      case: "conversationAction" as const,
      value: { action: { case: "cancelAction" as const, value: {} } },
    };
    run.onKind = (kind) => kind === "summaryStarted" && queueMicrotask(() => run.send(cancel));
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(run.kinds.slice(-3)).toEqual(["summaryCompleted", "turnEnded", "conversationCheckpointUpdate"]);
    expect(client.state?.summaryArchive).toBeUndefined();
    expect(client.state?.turns).toEqual(state?.turns);
  });

  it("is refused with words if it is empty", async () => {
    const { client } = open();
    const run = client.ask("", { action: SUMMARIZE });
    await run.ended;
    expect([run.error?.kind, run.error?.message]).toEqual([
      "invalid-request",
      expect.stringContaining("nothing to summarize"),
    ]);
  });

  it("is read from its turns if the client has dropped the archive", async () => {
    const { client, turns } = open();
    await client.ask("first").ended;
    await client.ask("", { action: SUMMARIZE, runId: "run-2" }).ended;
    client.blobs.delete(Buffer.from(client.state?.summaryArchive ?? []).toString("hex"));
    await client.ask("second", { runId: "run-3" }).ended;
    expect(textsOf(turns.at(-1))).toEqual(["user first", "assistant Yes?", "user second"]);
  });
});

it.each(["h2", "h1"] as const)("a summary reaches a client over %s", async (transport) => {
  const { engine } = engineWith((turn) => [say(isAskedFor(turn) ? "In short." : "Yes?"), STOP]);
  const { connect } = await setUpSim({ serveRun: createServeRun({ engine }), models: [{ ...LOCAL, id: "m" }] });
  const client = connect(transport);
  const request = { requestedModel: { modelId: "excursor/m" } };
  await client.say("hello", { request });
  const { error, updates } = await client.say("", { request: { ...request, action: SUMMARIZE } });
  expect(error).toBeUndefined();
  expect(updates).toEqual(expect.arrayContaining(["summaryStarted", "summary", "summaryCompleted", "turnEnded"]));
});
