import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { HubAnswers } from "../../../../src/core/hub/hub-answers.ts";
import { type Turn, textOf } from "../../../../src/core/turn.ts";
import { createServeRun, type ServeRunParts } from "../../../../src/faces/cursor/run/serve-run.ts";
import { createHubAnswerStore } from "../../../../src/state/hub-answer-store.ts";
import { openStateDatabase } from "../../../../src/state/state-database.ts";
import { blobIdOf, hexId } from "../../../../src/wire/agent/state/blobs.ts";
import { type ClientOptions, CursorClient } from "../support/cursor-client.ts";
import { CALLS, call, engineWith, STOP, say } from "../support/models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cursor-face-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);

function open(
  answer: (turn: Turn, nth: number) => readonly TurnEvent[] | Promise<readonly TurnEvent[]>,
  options: Partial<ClientOptions> = {},
  parts: Partial<ServeRunParts> = {},
) {
  const { engine, turns } = engineWith(answer);
  const serve = createServeRun({ engine, ...parts });
  return { client: new CursorClient({ folder, serve, ...options }), turns };
}

/** Answers round by round: the n-th list for the n-th turn. */
const rounds =
  (...answers: (readonly TurnEvent[])[]) =>
  (_turn: Turn, nth: number) =>
    answers[nth] ?? [say("?"), STOP];

const lastResult = (turn: Turn | undefined): string => textOf(turn?.messages.at(-1)?.content ?? []);

describe("a run without tools", () => {
  it("streams thinking and text, then ends with usage and a checkpoint", async () => {
    const { client, turns } = open(
      rounds([
        { type: "thinking", text: "hm" },
        { type: "thinking-done", durationMs: 12, signature: "sig" },
        say("Hello"),
        {
          type: "usage",
          usage: {
            inputTokens: 10,
            outputTokens: 5,
            cachedTokens: 4,
            cacheWrittenTokens: 2,
            reasoningTokens: 1,
            isEstimate: false,
          },
        },
        STOP,
      ]),
      {
        context: {
          env: { workspacePaths: ["/w"], osVersion: "linux" },
          rules: [{ fullPath: "/w/AGENTS.md", content: "Be kind.", type: { type: { case: "global", value: {} } } }],
        },
      },
    );
    const run = client.ask("hi", { customSystemPrompt: "You are a pirate." });
    await run.ended;
    expect(run.error).toBeUndefined();
    expect([run.thinking, run.text]).toEqual(["hm", "Hello"]);
    expect(run.kinds.at(-1)).toBe("conversationCheckpointUpdate");
    const ended = run.updates.find((update) => update.case === "turnEnded");
    expect(ended?.value).toMatchObject({ inputTokens: 10n, outputTokens: 5n, cacheReadTokens: 4n });
    expect(run.updates.find((update) => update.case === "thinkingCompleted")?.value).toMatchObject({
      thinkingDurationMs: 12,
    });
    expect(run.updates.some((update) => update.case === "tokenDelta")).toBe(true);
    const { system } = turns[0] ?? { system: "" };
    for (const part of ["You are a pirate.", "/w", "Be kind."]) expect(system).toContain(part);
    expect(system).not.toContain("You are a coding agent");
  });

  it("reads the conversation back from the client, with signatures and images", async () => {
    const data = Buffer.from("89504e470d0a1a0a", "hex");
    const { client, turns } = open(
      rounds(
        [
          { type: "thinking", text: "hm" },
          { type: "thinking-done", durationMs: 1, signature: "sig" },
          say("One"),
          STOP,
        ],
        [say("Two"), STOP],
      ),
    );
    const selectedImages = [{ mimeType: "image/png", dataOrBlobId: { case: "data" as const, value: data } }];
    const message = { text: "first", selectedContext: { selectedImages, extraContext: ["EXTRA"] } };
    await client.ask("", { action: { action: { case: "userMessageAction", value: { userMessage: message } } } }).ended;
    await client.ask("second", { runId: "run-2" }).ended;
    expect(turns[0]?.messages[0]?.content.map(({ type }) => type)).toEqual(["text", "text", "image"]);
    const [first, answer, second] = turns[1]?.messages ?? [];
    expect(first).toEqual(turns[0]?.messages[0]);
    expect(first?.content.find((part) => part.type === "image")).toMatchObject({ mediaType: "image/png" });
    expect(answer?.content).toEqual([
      { type: "thinking", text: "hm", signature: "sig" },
      { type: "text", text: "One" },
    ]);
    expect(textOf(second?.content ?? [])).toBe("second");
  });

  it("reads attached context that is in blobs, also in later turns", async () => {
    const { client, turns } = open(rounds([say("One"), STOP], [say("Two"), STOP]));
    const text = Buffer.from("FROM A BLOB");
    client.blobs.set(hexId(blobIdOf(text)), text);
    const extraContextEntries = [
      { dataOrBlobId: { case: "data" as const, value: "INLINE" } },
      { dataOrBlobId: { case: "blobId" as const, value: blobIdOf(text) } },
    ];
    const userMessage = { text: "first", selectedContext: { extraContextEntries } };
    await client.ask("", { action: { action: { case: "userMessageAction", value: { userMessage } } } }).ended;
    await client.ask("second", { runId: "run-2" }).ended;
    for (const { messages } of turns) {
      expect(textOf(messages[0]?.content ?? [])).toBe("INLINE\n\nFROM A BLOB\n\nfirst");
    }
    expect(turns).toHaveLength(2);
  });

  it("asks a model that says nothing only once", async () => {
    const { client, turns } = open(rounds([STOP], [say("again"), STOP]));
    const run = client.ask("hi");
    await run.ended;
    expect([run.text, run.error, turns.length]).toEqual(["", undefined, 1]);
  });

  it("sends heartbeats while the model is silent", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { client } = open(() => promise.then(() => [say("late"), STOP]), {}, { heartbeatMs: 1 });
    const run = client.ask("hi");
    run.onKind = (kind) => kind === "heartbeat" && resolve();
    await run.ended;
    expect(run.text).toBe("late");
  });
});

describe("tools", () => {
  it("changes real files, and keeps CRLF and the byte order mark", async () => {
    writeFileSync(at("a.txt"), "\uFEFFone\r\ntwo\r\nthree\r\n");
    const { client, turns } = open(
      rounds(
        [
          call("c1", "edit", { path: "a.txt", old_text: "one\ntwo", new_text: "one\n2" }),
          call("c2", "write", { path: "b.txt", content: "new\n" }),
          call("c3", "shell", { command: "echo hi && pwd" }),
          CALLS,
        ],
        [say("done"), STOP],
      ),
    );
    const run = client.ask("go");
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(readFileSync(at("a.txt"), "utf8")).toBe("\uFEFFone\r\n2\r\nthree\r\n");
    expect(readFileSync(at("b.txt"), "utf8")).toBe("new\n");
    const results = turns[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results.map(({ content }) => textOf(content)).at(-1)).toContain("hi\n");
    const completed = run.updates.flatMap((update) => (update.case === "toolCallCompleted" ? [update.value] : []));
    const edit = completed.find(({ callId }) => callId.endsWith("call_0") || callId === "c1")?.toolCall?.tool;
    expect(edit?.case === "editToolCall" && edit.value.result?.result.value).toMatchObject({
      linesAdded: 1,
      linesRemoved: 1,
    });
    const shell = run.execs.find(({ message }) => message.case === "shellStreamArgs")?.message;
    if (shell?.case !== "shellStreamArgs") throw new Error("no shell");
    expect(shell.value.skipApproval).toBe(false);
    expect(shell.value.parsingResult?.executableCommands.map(({ name }) => name)).toEqual(["echo", "pwd"]);
    expect(run.updates.some((update) => update.case === "toolCallDelta")).toBe(true);
    // The first checkpoint comes before the first exec that does something.
    expect(run.kinds.indexOf("conversationCheckpointUpdate")).toBeLessThan(run.kinds.lastIndexOf("execServerMessage"));
    expect(run.checkpoints.length).toBe(6);
  });

  it("runs commands in the workspace that the client named", async () => {
    const { client } = open(
      rounds(
        [
          call("c1", "shell", { command: "true" }),
          call("c2", "shell", { command: "true", working_directory: "sub" }),
          call("c3", "shell", { command: "true", working_directory: "/else" }),
          CALLS,
        ],
        [say("ok"), STOP],
      ),
      { context: { env: { workspacePaths: ["/w"] } } },
    );
    const run = client.ask("go");
    await run.ended;
    const folders = run.execs.flatMap(({ message }) =>
      message.case === "shellStreamArgs" ? [message.value.workingDirectory] : [],
    );
    expect(folders).toEqual(["/w", "/w/sub", "/else"]);
  });

  it("shows the tools that an agent runs itself, and runs none of them", async () => {
    const tool = (status: "running" | "completed"): TurnEvent => ({
      type: "activity",
      activity: { type: "tool", id: "t1", title: "Read a.txt", status, detail: { rawInput: { path: "a.txt" } } },
    });
    const answered: (string | undefined)[] = [];
    const { client } = open(
      rounds([
        tool("running"),
        {
          type: "activity",
          activity: {
            type: "question",
            id: "q",
            title: "May I?",
            options: [],
            detail: {},
            answer: (id) => answered.push(id),
          },
        },
        tool("completed"),
        say("ok"),
        STOP,
      ]),
    );
    const run = client.ask("go");
    await run.ended;
    expect(run.kinds.filter((kind) => kind.startsWith("toolCall"))).toEqual(["toolCallStarted", "toolCallCompleted"]);
    expect([run.execs.length, client.executed, answered]).toEqual([1, [], [undefined]]);
  });

  it("refuses to edit a file that was not read completely", async () => {
    writeFileSync(at("big.txt"), `x${"y".repeat(200_000)}`);
    const { client, turns } = open(
      rounds([call("c1", "edit", { path: "big.txt", old_text: "x", new_text: "z" }), CALLS], [say("ok"), STOP]),
    );
    await client.ask("go").ended;
    expect(lastResult(turns[1])).toContain("could not be read completely");
    expect(client.executed).toEqual(["read big.txt"]);
  });

  it("runs calls in parallel, and gives rejections and errors to the model", async () => {
    const { client, turns } = open(
      rounds(
        [
          call("c1", "shell", { command: "rm -rf /" }),
          call("c2", "read", { path: "none" }),
          call("c3", "nope", {}),
          CALLS,
        ],
        [say("ok"), STOP],
      ),
      {
        reply: ({ message }) =>
          message.case === "shellStreamArgs"
            ? {
                case: "shellStream",
                value: { event: { case: "rejected", value: { command: "rm", reason: "no way" } } },
              }
            : undefined,
      },
    );
    const run = client.ask("go");
    await run.ended;
    const texts = turns[1]?.messages.flatMap((message) => (message.role === "tool" ? [textOf(message.content)] : []));
    expect(texts?.[0]).toContain("no way");
    expect(texts?.[1]).toContain("file not found");
    expect(texts?.[2]).toContain('There is no tool "nope"');
  });

  it("offers the client's tools, as its lists allow", async () => {
    const tool = {
      name: "custom-user-tools-add",
      toolName: "add",
      providerIdentifier: "custom-user-tools",
      description: "Adds.",
    };
    const names = async (headers: Record<string, string>) => {
      const { client, turns } = open(rounds([call("c", "add", {}), CALLS], [say("ok"), STOP]), { headers });
      await client.ask("go", { mcpTools: { mcpTools: [tool] } }).ended;
      return {
        names: turns[0]?.tools.map(({ name }) => name),
        executed: client.executed,
        result: lastResult(turns[1]),
      };
    };
    const all = await names({});
    expect(all.names).toEqual(
      expect.arrayContaining(["shell", "read", "write", "edit", "delete", "ls", "grep", "glob", "todo", "add"]),
    );
    expect(all.executed).toEqual(["mcp add"]);
    expect(all.result).toBe("result of add");
    const none = await names({ "x-cursor-agent-allowed-tools": "" });
    expect([none.names, none.executed]).toEqual([[], []]);
    expect((await names({ "x-cursor-agent-allowed-tools": "mcp_tool_call" })).names).toEqual(["add"]);
    for (const fetch of ["fetch_tool_call", "web_fetch_tool_call"]) {
      expect((await names({ "x-cursor-agent-allowed-tools": fetch })).names).toEqual(["fetch"]);
    }
    expect((await names({ "x-cursor-agent-exclude-tools": "shell_tool_call,edit_tool_call" })).names).not.toContain(
      "write",
    );
  });

  it("keeps the todo list in the state of the client", async () => {
    const todos = [{ id: "1", content: "Look", status: "pending" }];
    const { client, turns } = open(
      rounds(
        [call("c1", "todo", { todos }), CALLS],
        [say("ok"), STOP],
        [call("c2", "todo", { merge: true, todos: [{ id: "2", content: "Leap", status: "completed" }] }), CALLS],
        [say("ok"), STOP],
      ),
    );
    await client.ask("go").ended;
    await client.ask("more", { runId: "run-2" }).ended;
    expect(lastResult(turns[3])).toBe("[pending] Look\n[completed] Leap");
    expect(client.state?.todos.length).toBe(2);
  });

  it("stops a model that calls the same tool for ever", async () => {
    writeFileSync(at("a"), "x");
    const { client } = open((_turn, nth) => [call(`c${nth}`, "read", { path: "a" }), CALLS]);
    const run = client.ask("go");
    await run.ended;
    expect(run.error).toMatchObject({ code: "tool_loop", retryable: false });
    expect(client.executed.length).toBe(3);
  });
});

describe("a stream that drops", () => {
  const answer = (turn: Turn): readonly TurnEvent[] =>
    turn.messages.at(-1)?.role === "tool"
      ? [say(`after ${lastResult(turn)}`), STOP]
      : [call("c1", "shell", { command: "echo x >> log" }), CALLS];

  it("never executes a call twice, wherever it drops", async () => {
    const whole = open(answer).client.ask("go");
    await whole.ended;
    const frames = whole.kinds.length;
    expect(frames).toBeGreaterThan(15);
    for (let n = 1; n <= frames; n++) {
      rmSync(at("log"), { force: true });
      const { client } = open(answer);
      const first = client.ask("go");
      first.cutAt = (_kind, count) => count === n;
      await first.ended;
      const again = client.state ? client.resume() : client.ask("go");
      await again.ended;
      expect(again.error, `cut at ${n}, ${first.kinds.at(-1)}`).toBeUndefined();
      expect(client.executed.length, `cut at ${n}`).toBeLessThanOrEqual(1);
    }
  });

  it("is taken up by another gateway and then by the first one again, which executes nothing that the other one has", async () => {
    const state = await openStateDatabase(":memory:");
    const answers: HubAnswers = createHubAnswerStore(state);
    const twoCalls = ({ messages }: Turn): readonly TurnEvent[] => {
      const results = messages.filter(({ role }) => role === "tool").length;
      if (results === 2) return [say("Done."), STOP];
      return [call(`c${results}`, "shell", { command: `echo ${results} >> log` }), CALLS];
    };
    const [one, other] = [open(twoCalls, {}, { answers }), open(twoCalls, {}, { answers })];
    const first = one.client.ask("go");
    first.cutAt = (kind) => kind === "execServerMessage" && first.checkpoints.length === 1;
    await first.ended;
    Object.assign(one.client, { state: undefined });
    await other.client.ask("go").ended;
    expect(other.client.executed).toEqual(["shell echo 1 >> log"]);
    const last = one.client.ask("go");
    await last.ended;
    expect([last.text, one.client.executed]).toEqual(["Done.", []]);
    state.close();
  });

  it("keeps what the model thought, though the client lost the checkpoint with it", async () => {
    const thought: readonly TurnEvent[] = [
      { type: "thinking", text: "hm" },
      { type: "thinking-done", durationMs: 1, signature: "sig" },
    ];
    const { client, turns } = open((turn) => [
      ...(turn.messages.at(-1)?.role === "tool" ? [] : thought),
      ...answer(turn),
    ]);
    const first = client.ask("go");
    first.cutAt = (kind) => kind === "conversationCheckpointUpdate";
    await first.ended;
    expect(client.state).toBeUndefined();
    await client.ask("go").ended;
    expect(turns[1]?.messages.map(({ content }) => content[0])).toMatchObject([
      { text: "go" },
      { type: "thinking", text: "hm", signature: "sig" },
      { text: expect.stringContaining("its outcome is not known") },
    ]);
    expect(client.executed).toEqual([]);
  });

  it("resumes in a new process, which knows only what the client kept", async () => {
    const { client } = open(answer);
    const first = client.ask("go");
    first.cutAt = (kind) => kind === "execServerMessage" && first.checkpoints.length === 1;
    await first.ended;
    const next = open(answer);
    Object.assign(next.client, { blobs: client.blobs, state: client.state });
    const run = next.client.resume();
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(run.text).toContain("its outcome is not known");
    expect(next.client.executed).toEqual([]);
    // The turn was taken up again and is one turn of the state.
    expect(next.client.state?.turns.length).toBe(1);
  });
});

describe("a user who intervenes", () => {
  it("cancels in the middle of a tool, and the conversation goes on", async () => {
    const { client, turns } = open(
      rounds([call("c1", "shell", { command: "sleep 100" }), CALLS], [say("fine"), STOP]),
      { reply: ({ message }) => (message.case === "shellStreamArgs" ? "never" : undefined) },
    );
    const run = client.ask("go");
    run.onKind = (kind) => {
      if (kind === "execServerMessage" && run.checkpoints.length > 0) {
        queueMicrotask(() =>
          run.send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } }),
        );
      }
    };
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(run.kinds).toContain("execServerControlMessage");
    await client.ask("next", { runId: "run-2" }).ended;
    expect(turns[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it("queues a message that is sent during a run", async () => {
    const { client, turns } = open(rounds([say("one"), STOP], [say("two"), STOP]));
    const run = client.ask("first");
    const action = { action: { case: "userMessageAction" as const, value: { userMessage: { text: "also" } } } };
    run.onKind = (kind) =>
      kind === "textDelta" && run.text === "" && run.send({ case: "conversationAction", value: action });
    await run.ended;
    expect(run.text).toBe("onetwo");
    expect(lastResult(turns[1])).toBe("also");
    expect(run.kinds).toContain("userMessageAppended");
  });

  it("queues a message that comes while the client stores the last state", async () => {
    const { client, turns } = open(rounds([say("one"), STOP], [say("two"), STOP]));
    const run = client.ask("first");
    const action = { action: { case: "userMessageAction" as const, value: { userMessage: { text: "also" } } } };
    let isSent = false;
    run.onKind = (kind) => {
      if (kind !== "kvServerMessage" || run.text === "" || isSent) return;
      isSent = true;
      run.send({ case: "conversationAction", value: action });
    };
    await run.ended;
    expect([run.text, lastResult(turns[1])]).toEqual(["onetwo", "also"]);
  });

  it("is told what becomes of a message that steers, which the model gets after its calls", async () => {
    const { client, turns } = open(rounds([call("c1", "shell", { command: "true" }), CALLS], [say("steered"), STOP]));
    const run = client.ask("first");
    const steer = (n: number) => {
      const context = { case: "userContext" as const, value: { userMessage: { text: `also ${n}` } } };
      const value = { injectionId: `i${n}`, context };
      run.send({ case: "conversationAction", value: { action: { case: "injectContextAction", value } } });
    };
    let sent = 0;
    run.onKind = (kind) => {
      if (kind === "toolCallStarted") while (sent < 17) steer(sent++);
    };
    await run.ended;
    const states = run.updates.flatMap((update) =>
      update.case === "contextInjectionState" ? [[update.value.injectionId, update.value.state?.state.case]] : [],
    );
    expect(states.slice(14, 18)).toEqual([
      ["i14", "queued"],
      ["i15", "queued"],
      ["i16", "rejected"],
      ["i0", "delivered"],
    ]);
    expect(turns[1]?.messages.slice(0, 4).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect([turns.length, lastResult(turns[1]), run.text]).toEqual([2, "also 15", "steered"]);
  });
});

describe("bad input", () => {
  const talk = rounds([say("hi"), STOP]);

  it("names the missing blob of a state", async () => {
    const { client } = open(talk);
    await client.ask("hi").ended;
    client.blobs.clear();
    const run = client.ask("again", { runId: "run-2" });
    await run.ended;
    expect(run.error).toMatchObject({ kind: "invalid-request", code: "blob_not_found" });
    expect(run.error?.hint).toContain("Start a new conversation");
  });

  it("refuses a result without a call, and a second request", async () => {
    const never = () => new Promise<readonly TurnEvent[]>(() => {});
    const results = { case: "readResult" as const, value: {} };
    const bad = {
      result: (run: ReturnType<CursorClient["ask"]>) =>
        run.send({ case: "execClientMessage", value: { id: 77, message: results } }),
      second: (run: ReturnType<CursorClient["ask"]>) => run.send({ case: "runRequest", value: {} }),
    };
    for (const send of Object.values(bad)) {
      const run = open(never).client.ask("hi");
      run.onKind = (kind) => kind === "execServerMessage" && setImmediate(() => send(run));
      await run.ended;
      expect(run.error).toMatchObject({ kind: "invalid-request", code: "protocol_violation" });
    }
  });

  it("says that a model does not exist", async () => {
    const { engine } = engineWith(talk);
    const serve = createServeRun({ engine });
    const client = new CursorClient({ folder, serve: (connection) => serve(connection, "other") });
    const run = client.ask("hi");
    await run.ended;
    expect(run.error?.kind).toBe("model-not-found");
  });

  it("ends the run when the key is revoked, before the model is asked again", async () => {
    let isAllowed = true;
    const { client, turns } = open(
      rounds([call("c1", "shell", { command: "true" }), CALLS]),
      {
        reply: () => {
          isAllowed = false;
          return undefined;
        },
      },
      { isAllowed: () => isAllowed },
    );
    const run = client.ask("hi");
    await run.ended;
    expect(run.error?.kind).toBe("unauthenticated");
    expect([turns.length, client.executed.length]).toEqual([1, 1]);
  });

  it("ignores what comes after the end", async () => {
    const { client } = open(talk);
    const run = client.ask("hi");
    await run.ended;
    const before = run.kinds.length;
    run.send({ case: "runRequest", value: {} });
    run.send({ case: "execClientMessage", value: { id: 99 } });
    expect([run.kinds.length, run.error]).toEqual([before, undefined]);
  });
});
