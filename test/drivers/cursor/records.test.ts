import { describe, expect, it } from "vitest";
import type { Run } from "../../../src/core/driver.ts";
import type { Message, ToolDefinition, ToolMessage } from "../../../src/core/turn.ts";
import type { ModelEncoding } from "../../../src/drivers/cursor/models/model.ts";
import type { ServerMessage } from "../../../src/wire/agent/messages.ts";
import { assistant, aTurn, open, read, user } from "./support/driver-stage.ts";
import {
  beat,
  callLook,
  checkpoint,
  type Play,
  type ScriptedRun,
  setUpScripted,
  text,
  turnEnded,
  update,
} from "./support/scripted-backend.ts";

/** What records of the real backend show. The simulator's tests cite the same numbers. */

const look: ToolDefinition = { name: "look", description: "looks", schema: { type: "object", properties: {} } };
const result = (callId: string, said: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text: said }],
  isError: false,
});

/** Reads a run up to its calls, and answers each with its own id. */
async function answerCalls(run: Run): Promise<readonly string[]> {
  const { events } = await read(run);
  const ids = events.flatMap((event) => (event.type === "tool-call" ? [event.id] : []));
  run.submitResults(
    ids.map((id) => result(id, `result of ${id}`)),
    [],
  );
  return ids;
}

const AT = { at: { kind: { case: "stringValue" as const, value: "x" } } };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What a run began from: the mark of its checkpoint, or "rebuilt". */
const startOf = (run: ScriptedRun | undefined) => run?.request.conversationState?.readPaths.join() || "rebuilt";

const announce = (callCount: number) => update({ case: "toolRequestsListed", value: { callCount } });

const cutAfter =
  (...messages: readonly ServerMessage[]): Play =>
  (run) => {
    run.send(...messages);
    run.cut();
  };

/** Plays an answer that ends with these frames, asks a question after it, and tells what that began from. */
async function followUp(transport: "h2" | "h1", ...plays: Play[]) {
  const stage = await setUpScripted(transport, [...plays, (run) => run.end([text("again"), turnEnded])]);
  const { driver, backend } = stage;
  const first = await read(open(driver, aTurn([user("hi")])));
  return {
    ...stage,
    first,
    next: async () => {
      await read(open(driver, aTurn([user("hi"), assistant(first.text), user("and?")])));
      return startOf(backend.runs.at(-1));
    },
  };
}

describe.each(["h2", "h1"] as const)("the driver follows the records over %s", (transport) => {
  it.each([
    ["default", "resumeAction"],
    ["composer-2.5-fast", "resumeAction"],
    ["composer-2.5", "userMessageAction"],
    ["claude-opus-4-8", "userMessageAction"],
  ])("a transcript that ends in results is continued in the way that %s follows", async (modelId, action) => {
    const encoding = { kind: "variant", modelId, displayModelId: "", displayName: "", parameters: [], maxMode: false };
    const plays: Play[] = [(run) => run.end([text("done"), turnEnded])];
    const { driver, backend } = await setUpScripted(transport, plays, {}, { encodings: [encoding as ModelEncoding] });
    const call = { type: "tool-call", id: "c", name: "look", args: {} } as const;
    const messages: Message[] = [user("hi"), { role: "assistant", content: [call] }, result("c", "seen")];
    expect((await read(open(driver, aTurn(messages, { tools: [look] })))).text).toBe("done");
    expect(backend.runs[0]?.request.action?.action.case).toBe(action);
  });

  it("fact 8: does not echo the exec id of a request", async () => {
    const { driver, backend } = await setUpScripted(transport, [
      async (run) => {
        const { message } = { message: callLook(0, "c") };
        if (message.case === "execServerMessage")
          run.send({ ...message, value: { ...message.value, execId: "token" } });
        await run.untilResults(1);
        run.end([text("done"), turnEnded]);
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    await answerCalls(run);
    expect((await read(run)).text).toBe("done");
    const results = backend.runs[0]?.received.flatMap((message) =>
      message.case === "execClientMessage" ? [message.value.execId] : [],
    );
    expect(results).toEqual([""]);
  });

  it("fact 16: a deleted file has a size, by each of the client's tools", async () => {
    const tools = ["delete_file", "bash"].map((name) => ({
      name,
      description: "",
      schema: {
        type: "object",
        properties: { [name === "bash" ? "command" : "path"]: { type: "string" } },
        required: [name === "bash" ? "command" : "path"],
      },
    }));
    for (const tool of tools) {
      const { driver, backend } = await setUpScripted(transport, [
        async (run) => {
          const value = { path: "/a", toolCallId: "c" };
          run.send({ case: "execServerMessage", value: { id: 0, message: { case: "deleteArgs", value } } });
          await run.untilResults(1);
          run.end([turnEnded]);
        },
      ]);
      const run = open(driver, aTurn([user("hi")], { tools: [tool] }));
      const { events } = await read(run);
      const call = events.find((event) => event.type === "tool-call");
      expect(call).toMatchObject({ name: tool.name });
      run.submitResults([result("c", "")], []);
      await read(run);
      expect(backend.runs[0]?.results[0]?.text).toMatch(/"fileSize":"[1-9]/);
    }
  });

  it("an argument without a kind, or with a number that JSON lacks, is null", async () => {
    const { driver } = await setUpScripted(transport, [
      (run) => {
        const list = { case: "listValue" as const, value: { values: [{}] } };
        const args = {
          none: {},
          list: { kind: list },
          nan: { kind: { case: "numberValue" as const, value: Number.NaN } },
        };
        run.send(callLook(0, "c", args), checkpoint("old"));
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    const { events, error } = await read(run);
    run.cancel();
    expect(error).toBeUndefined();
    expect(events).toContainEqual({
      type: "tool-call",
      id: "c",
      name: "look",
      args: { none: null, list: [null], nan: null },
    });
  });

  it.runIf(transport === "h1")("fact 27: reads a download that is named as an event stream", async () => {
    const { driver, backend } = await setUpScripted(transport, [(run) => run.end([text("hello"), turnEnded])]);
    backend.contentType = "text/event-stream";
    expect(await read(open(driver, aTurn([user("hi")])))).toMatchObject({ text: "hello", error: undefined });
  });

  it("fact 1: waits for the last checkpoint after the turn's end, and keeps the last one", async () => {
    const { next, first } = await followUp(transport, async (run) => {
      run.send(text("hello"), turnEnded);
      await pause(50);
      run.send(checkpoint("first"));
      run.end([checkpoint("last")]);
    });
    expect(first.text).toBe("hello");
    await expect.poll(next).toBe("last");
  });

  it.each<[what: string, play: Play, start: string]>([
    [
      "the settled one counts",
      (run) => run.end([turnEnded, checkpoint("staged", "a"), checkpoint("settled")]),
      "settled",
    ],
    [
      "a staged one at the end of the stream does not",
      (run) => run.end([turnEnded, checkpoint("staged", "a")]),
      "rebuilt",
    ],
    ["a staged one before a cut does not", cutAfter(turnEnded, checkpoint("staged", "a")), "rebuilt"],
    ["a settled one without the answer does not", (run) => run.end([text("more"), turnEnded]), "rebuilt"],
  ])("fact 2: after a turn %s", async (_, end, start) => {
    const { next } = await followUp(transport, (run) => {
      run.send(text("hello"), checkpoint("early"));
      run.send(text(" there"));
      end(run);
    });
    await pause(20);
    expect(await next()).toBe(start);
  });

  it("fact 2: waits for the settled checkpoint as long as heartbeats come, and the client does not", async () => {
    let isSettled = false;
    const { next, first } = await followUp(transport, async (run) => {
      run.send(text("hello"), turnEnded, checkpoint("staged", "a"));
      await pause(1500);
      run.send(beat);
      await pause(1200);
      isSettled = true;
      run.send(checkpoint("settled"));
    });
    expect([first.error, isSettled]).toEqual([undefined, false]);
    await expect.poll(() => isSettled, { timeout: 6000 }).toBe(true);
    await expect.poll(next).toBe("settled");
  });

  it("fact 3: a drop after a staged checkpoint does not resume from it", async () => {
    const { driver, backend } = await setUpScripted(transport, [
      cutAfter(checkpoint("settled"), checkpoint("staged", "a")),
      (run) => run.end([text("hello"), turnEnded]),
    ]);
    expect((await read(open(driver, aTurn([user("hi")])))).text).toBe("hello");
    expect(backend.runs.map(startOf)).toEqual(["rebuilt", "settled"]);
  });

  it("fact 3: what was shown since the settled checkpoint is not told twice", async () => {
    const { driver, backend } = await setUpScripted(transport, [
      cutAfter(checkpoint("settled"), text("hel"), checkpoint("staged", "a")),
    ]);
    expect((await read(open(driver, aTurn([user("hi")])))).error).toBeDefined();
    expect(backend.runs).toHaveLength(1);
  });

  it("fact 6: the calls of an announced batch come in one answer, however late", async () => {
    const { driver } = await setUpScripted(transport, [
      async (run) => {
        run.send(announce(2), callLook(0, "a"));
        await pause(400);
        run.send(checkpoint("staged", "a"), callLook(1, "b"));
        await run.untilResults(2);
        run.end([text("done"), turnEnded]);
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    expect(await answerCalls(run)).toEqual(["a", "b"]);
    expect((await read(run)).text).toBe("done");
  });

  it("a batch that announces 2^31 calls and brings 3 is not waited for without end", async () => {
    const { driver } = await setUpScripted(transport, [
      async (run) => {
        run.send(announce(2 ** 31 - 1), ...[0, 1, 2].map((id) => callLook(id, `c${id}`)));
        await run.untilResults(3);
        run.end([text("done"), turnEnded]);
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    expect(await answerCalls(run)).toHaveLength(3);
    expect((await read(run)).text).toBe("done");
  });

  it("fact 14: calls under one id reach the client under two, one after the other and both at once", async () => {
    const { driver, backend } = await setUpScripted(transport, [
      async (run) => {
        run.send(callLook(0, "edit"), checkpoint("old"));
        await run.untilResults(1);
        run.send(callLook(1, "edit"), callLook(2, "edit"), checkpoint("old"));
        await run.untilResults(3);
        run.end([text("done"), turnEnded]);
      },
    ]);
    const run = open(driver, aTurn([user("hi")], { tools: [look] }));
    expect(await answerCalls(run)).toEqual(["edit"]);
    expect(await answerCalls(run)).toEqual(["edit#2", "edit#3"]);
    expect((await read(run)).text).toBe("done");
    const results = backend.runs[0]?.results.map(({ id, text: said }) => [id, /result of [\w#]+/.exec(said)?.[0]]);
    expect(results).toEqual([
      [0, "result of edit"],
      [1, "result of edit#2"],
      [2, "result of edit#3"],
    ]);
    expect(backend.runs).toHaveLength(1);
  });

  it("calls that wait under one exec id end the run with one sentence", async () => {
    const { driver } = await setUpScripted(transport, [(run) => run.send(callLook(0, "a"), callLook(0, "b"))]);
    const { error } = await read(open(driver, aTurn([user("hi")], { tools: [look] })));
    expect(error).toMatchObject({ code: "exec_id_repeated", kind: "upstream-protocol" });
  });

  it("fact 25: an error behind the turn's end is told while the answer is open", async () => {
    const { first, next } = await followUp(transport, (run) =>
      run.end([text("hello"), checkpoint("kept"), turnEnded], { code: "internal", message: "it broke" }),
    );
    expect(first.error).toMatchObject({ message: expect.stringContaining("it broke") });
    expect(await next()).toBe("rebuilt");
  });

  it("fact 25: a later one is logged, the answer stays, and its checkpoint is not kept", async () => {
    const { first, next, late } = await followUp(transport, async (run) => {
      run.send(text("hello"), checkpoint("kept"), turnEnded);
      await pause(300);
      run.end([], { code: "internal", message: "it broke" });
    });
    expect(first).toMatchObject({ text: "hello", error: undefined });
    await expect.poll(() => late).toEqual(["r1 upstream_failed"]);
    expect(await next()).toBe("rebuilt");
  });

  it.each([
    ["a small request is limited", 100_000, "rate-limited"],
    ["a large one is too long", 20, "context-overflow"],
  ])("fact 26: a refusal without a reason: %s, after the other encoding", async (_, contextTokens, kind) => {
    const refuse: Play = (run) => run.end([], { code: "resource_exhausted", message: "Error" });
    const { driver, backend } = await setUpScripted(transport, [refuse], {}, { contextTokens });
    const { error } = await read(open(driver, aTurn([user("a".repeat(60))])));
    expect(error).toMatchObject({ kind });
    expect(backend.runs.map((run) => run.request.requestedModel?.modelId)).toEqual(["gpt-5.5", "gpt-5.5-high"]);
  });

  describe("fact 31: a run that is given up while it waits", () => {
    const parks: Play = (run) =>
      run.send(text("hm"), callLook(0, "a", AT), callLook(1, "b"), checkpoint("suspended", "{}"));
    const asksAgain: Play = async (run) => {
      run.send(checkpoint("suspended", "{}"), callLook(0, "a", AT), callLook(1, "b"));
      await run.untilResults(2);
      run.end([text("done"), turnEnded, checkpoint("settled")]);
    };
    const answered = (at: string): Message[] => [
      user("hi"),
      {
        role: "assistant",
        content: [
          { type: "text", text: "hm" },
          { type: "tool-call", id: "client's 1", name: "look", args: { at } },
          { type: "tool-call", id: "client's 2", name: "look", args: {} },
        ],
      },
      result("client's 1", "first"),
      result("client's 2", "second"),
    ];
    const giveUp = async (...plays: Play[]) => {
      const stage = await setUpScripted(transport, [parks, ...plays]);
      const run = open(stage.driver, aTurn([user("hi")], { tools: [look] }));
      expect((await read(run)).events.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
      run.cancel();
      const follow = (at = "x") => read(open(stage.driver, aTurn(answered(at), { tools: [look] })));
      const starts = () => stage.backend.runs.map(startOf);
      return { ...stage, follow, starts };
    };

    it("is resumed from its suspended checkpoint, and the calls made again get the client's results", async () => {
      const { follow, starts, backend } = await giveUp(asksAgain);
      const { events, error } = await follow();
      expect([error, events.map(({ type }) => type)]).toEqual([undefined, ["text", "done"]]);
      expect(starts()).toEqual(["rebuilt", "suspended"]);
      const [first, second] = backend.runs;
      expect(second?.request.action?.action.case).toBe("resumeAction");
      expect(second?.request.conversationId).toBe(first?.request.conversationId);
      expect(second?.results.map(({ id, text: said }) => [id, /first|second/.exec(said)?.[0]])).toEqual([
        [0, "first"],
        [1, "second"],
      ]);
    });

    it("is replayed from the transcript if a call was edited", async () => {
      const { follow, starts } = await giveUp((run) => run.end([text("done"), turnEnded]));
      expect((await follow("y")).text).toBe("done");
      expect(starts()).toEqual(["rebuilt", "rebuilt"]);
    });

    it.each<[what: string, play: Play]>([
      ["goes on without the results", (run) => run.send(text("I know nothing"))],
      ["makes another call", (run) => run.send(callLook(0, "c", { at: { kind: { case: "boolValue", value: true } } }))],
      ["ends the turn", (run) => run.end([turnEnded])],
      ["refuses the state", (run) => run.end([], { code: "invalid_argument", message: "bad state" })],
    ])("is replayed from the transcript if the backend %s", async (_, play) => {
      const { follow, starts } = await giveUp(play, (run) => run.end([text("done"), turnEnded]));
      expect(await follow()).toMatchObject({ text: "done", error: undefined });
      expect(starts()).toEqual(["rebuilt", "suspended", "rebuilt"]);
    });
  });
});
