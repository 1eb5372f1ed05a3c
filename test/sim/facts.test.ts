import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { AgentServerMessage } from "../../src/gen/agent/v1/run_pb.ts";
import { BidiRequestIdSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend } from "../../src/wire/agent/bidi-append.ts";
import { encodeFrame, FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "../../src/wire/connect/envelope.ts";
import type { Intercept, RunRecord } from "./support/backend-client.ts";
import { encodeMessage, postRun, RUN_HEADERS, saying } from "./support/raw-run.ts";
import { setUp, TRANSPORTS } from "./support/transports.ts";

/** What is known of the real backend, and how the simulator does the same. The table of facts is numbered. */
const tools = { look: () => "seen", see: () => "saw" };

/** The root messages and pending calls of each checkpoint. */
const checkpoints = ({ messages }: RunRecord): readonly (readonly [roots: number, pending: number])[] =>
  messages.flatMap(({ message }) =>
    message.case === "conversationCheckpointUpdate"
      ? [[message.value.rootPromptMessagesJson.length, message.value.pendingToolCalls.length] as const]
      : [],
  );

/** What follows the end of the turn. */
function tail({ messages }: RunRecord): readonly AgentServerMessage["message"][] {
  const kinds = messages.map(({ message }) => message);
  const ended = kinds.findIndex((kind) => kind.case === "interactionUpdate" && kind.value.message.case === "turnEnded");
  return kinds.slice(ended + 1);
}

const toolExecs = ({ execs }: RunRecord) => execs.filter(({ message }) => message.case !== "requestContextArgs");

/** Answers a native request. */
const answer =
  (results: Readonly<Record<string, (args: never) => object>>): Intercept =>
  (message, send) => {
    if (message.case !== "execServerMessage") return false;
    const { id, message: exec } = message.value;
    const result = results[exec.case ?? ""];
    if (!result || !exec.case) return false;
    const member = { case: exec.case.replace("Args", "Result"), value: result(exec.value as never) } as never;
    send({ case: "execClientMessage", value: { id, message: member } });
    return true;
  };

describe.each(TRANSPORTS)("the checkpoints of the records, over %s", (transport) => {
  it("fact 1: after turn_ended come checkpoints, then the end", async () => {
    const { client } = await setUp(transport, { tools });
    const run = await client.say("@sim say hi");
    expect(run.error).toBeUndefined();
    expect(new Set(tail(run).map((message) => message.case))).toEqual(new Set(["conversationCheckpointUpdate"]));
  });

  it("fact 2: the first of them is staged, the settled one is repeated", async () => {
    const { client } = await setUp(transport);
    const run = await client.say("@sim think hm ;; say hi");
    const pending = tail(run).map((message) =>
      message.case === "conversationCheckpointUpdate" ? message.value.pendingToolCalls : [],
    );
    expect(pending).toEqual([[JSON.stringify({ type: "text", text: "hi" })], [], []]);
  });

  it("fact 2: no-settled leaves it at the staged one, and the next turn sees none of the answer", async () => {
    const { client } = await setUp(transport);
    const run = await client.say("@sim fault no-settled ;; say hi");
    expect([run.text, run.error]).toEqual(["hi", undefined]);
    expect(checkpoints(run)).toEqual([[1, 1]]);
    expect((await client.resume()).text).toBe("hi");
  });

  it("fact 3: a run that resumes from a staged state makes the whole batch again", async () => {
    const { client } = await setUp(transport, { tools });
    const prompt = '@sim say a ;; call look {"at":1} ;; call see {} ;; say b {{result.0}} {{result}}';
    const cut = await client.say(prompt, {
      onMessage: (message, stream) => {
        const isStaged = message.case === "conversationCheckpointUpdate" && message.value.pendingToolCalls.length > 0;
        if (isStaged) stream.cancel();
      },
      intercept: (message) => message.case === "execServerMessage" && message.value.message.case === "mcpArgs",
    });
    expect([cut.text, toolExecs(cut).length]).toEqual(["a", 2]);
    expect(client.state?.pendingToolCalls.map((call) => JSON.parse(call))).toMatchObject([
      { type: "tool-call", toolName: "look", args: { at: 1 } },
      { type: "tool-call", toolName: "see" },
    ]);
    const resumed = await client.resume();
    expect([resumed.text, toolExecs(resumed).length]).toEqual(["b seen saw", 2]);
  });

  it("fact 4: a round goes from settled to staged to settled, before the next output", async () => {
    const { client } = await setUp(transport, { tools });
    const run = await client.say("@sim say a ;; call look {} ;; say b {{reused}}");
    expect(checkpoints(run)).toEqual([
      [2, 0],
      [2, 1],
      [3, 0],
      [3, 1],
      [4, 0],
      [4, 0],
    ]);
    const kinds = run.messages.map(({ message }) =>
      message.case === "interactionUpdate" ? message.value.message.case : message.case,
    );
    const settled = kinds.indexOf("conversationCheckpointUpdate", kinds.indexOf("toolCallCompleted"));
    expect(settled).toBeLessThan(kinds.lastIndexOf("textDelta"));
  });

  it("fact 5: a parallel batch enters the turn when all its results are in", async () => {
    const { client } = await setUp(transport, { tools });
    const run = await client.say("@sim say a ;; call look {} ;; call see {} ;; say b");
    expect(checkpoints(run).slice(0, 3)).toEqual([
      [2, 0],
      [2, 2],
      [4, 0],
    ]);
  });

  it("fact 31: a suspended state can be resumed with the results, and what came before them is cached", async () => {
    const { client } = await setUp(transport, { tools });
    await client.say("@sim say a ;; fault end-after-calls ;; call look {} ;; say {{result}} {{reused}}");
    const { state } = client;
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", args: {} };
    const result = { type: "tool-result", toolCallId: "c", toolName: "look", result: "kept" };
    const roots = client.storeRoots([
      { role: "assistant", content: [call] },
      { role: "tool", id: "c", content: [result] },
    ]);
    if (state) client.state = { ...state, rootPromptMessagesJson: [...state.rootPromptMessagesJson, ...roots] };
    const resumed = await client.resume();
    expect([resumed.text, toolExecs(resumed).length]).toEqual(["kept checkpoint", 0]);
  });
});

describe.each(TRANSPORTS)("the calls of the records, over %s", (transport) => {
  it("fact 6: the calls of an announced batch may come far apart", async () => {
    const { client } = await setUp(transport, { tools });
    const at: number[] = [];
    const run = await client.say("@sim fault slow-batch ms=300 ;; call look {} ;; call see {} ;; say {{result}}", {
      onMessage: (message) => {
        if (message.case === "execServerMessage" && message.value.message.case === "mcpArgs") at.push(Date.now());
      },
    });
    expect(run.text).toBe("saw");
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(250);
    const listed = run.messages.findIndex(
      ({ message }) => message.case === "interactionUpdate" && message.value.message.case === "toolRequestsListed",
    );
    const firstCall = run.messages.findIndex(
      ({ message }) => message.case === "execServerMessage" && message.value.message.case === "mcpArgs",
    );
    expect(listed).toBeLessThan(firstCall);
  });

  it("fact 7: the ids of kv requests begin at 0 in each run", async () => {
    const { client } = await setUp(transport);
    for (const prompt of ["@sim say one", "@sim say two"]) {
      const { messages } = await client.say(prompt);
      const ids = messages.flatMap(({ message }) => (message.case === "kvServerMessage" ? [message.value.id] : []));
      expect(ids.toSorted((a, b) => a - b)).toEqual(ids.map((_, place) => place));
    }
  });

  it("fact 8: a client need not echo exec_id", async () => {
    const { client } = await setUp(transport);
    const intercept = answer({
      readArgs: ({ path }: { path: string }) => ({
        result: { case: "success", value: { path, output: { case: "content", value: "x" } } },
      }),
    });
    expect((await client.say('@sim exec read {"path":"/a"} ;; say {{result}}', { intercept })).text).toBe("x");
  });

  it("fact 9: tool_call_id has a newline", async () => {
    const { client } = await setUp(transport, { tools });
    const run = await client.say("@sim call look {} ;; say {{result}}");
    const [asked] = toolExecs(run);
    expect(asked?.message.case === "mcpArgs" && asked.message.value.toolCallId).toMatch(/^call_[\w-]+\nfc_\w+_0$/);
    expect(run.text).toBe("seen");
  });

  it("fact 10: one run_id may have several request ids", async () => {
    const { client } = await setUp(transport);
    const request = { runId: "run-1" };
    const runs = [await client.say("@sim say one", { request }), await client.say("@sim say two", { request })];
    expect(runs.map(({ text, error }) => [text, error])).toEqual([
      ["one", undefined],
      ["two", undefined],
    ]);
  });

  it("fact 11: the id of a blob is the SHA-256 of its content, also of none", async () => {
    const { client } = await setUp(transport);
    const textBlobId = client.storeBlob("");
    const { messages, error } = await client.run({
      action: { case: "userMessageAction", value: { userMessage: { messageId: "m", textBlobId } } },
    });
    expect(error).toBeUndefined();
    const stored = messages.flatMap(({ message }) =>
      message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs"
        ? [message.value.message.value]
        : [],
    );
    expect(stored.length).toBeGreaterThan(0);
    for (const { blobId, blobData } of stored)
      expect(Buffer.from(blobId)).toEqual(createHash("sha256").update(blobData).digest());
  });

  it("fact 12: partial_tool_call begins with an empty typed member", async () => {
    const { client } = await setUp(transport, { tools });
    const { messages } = await client.say('@sim call look {"at":"x"}');
    const parts = messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "partialToolCall"
        ? [message.value.message.value]
        : [],
    );
    expect([parts[0]?.toolCall?.tool, parts[0]?.argsTextDelta]).toMatchObject([{ case: "mcpToolCall" }, ""]);
    expect(parts[0]?.toolCall?.tool.value).not.toHaveProperty("args.name");
    expect(parts.at(-1)?.argsTextDelta).toBe('{"at":"x"}');
  });

  it("fact 14: an edit is a read and a write under one id", async () => {
    const { client } = await setUp(transport);
    const file = { text: "a b" };
    const intercept = answer({
      readArgs: ({ path }: { path: string }) => ({
        result: { case: "success", value: { path, output: { case: "content", value: file.text } } },
      }),
      writeArgs: ({ path, fileText }: { path: string; fileText: string }) => {
        file.text = fileText;
        return { result: { case: "success", value: { path } } };
      },
    });
    const prompt = '@sim exec edit {"path":"/a","oldText":"b","newText":"$& c"} ;; say {{result}}';
    const run = await client.say(prompt, { intercept });
    expect([run.text, file.text]).toEqual(["wrote /a", "a $& c"]);
    const asked = toolExecs(run).map(({ message }) => [
      message.case,
      message.value && "toolCallId" in message.value && message.value.toolCallId,
    ]);
    expect(asked.map(([kind]) => kind)).toEqual(["readArgs", "writeArgs"]);
    expect(asked[0]?.[1]).toBe(asked[1]?.[1]);
    expect(run.updates.filter((update) => update === "toolCallStarted")).toHaveLength(1);
  });

  it("fact 16: a deletion is done, with a size or without", async () => {
    const { client } = await setUp(transport);
    for (const fileSize of [0n, 7n]) {
      const intercept = answer({
        deleteArgs: ({ path }: { path: string }) => ({ result: { case: "success", value: { path, fileSize } } }),
      });
      const run = await client.say('@sim exec delete {"path":"/a"} ;; say {{result}}', { intercept });
      expect(run.text).toBe("deleted /a");
    }
  });

  it("fact 17: a shell command brings its limits", async () => {
    const { client } = await setUp(transport);
    const intercept = answer({ shellArgs: () => ({ result: { case: "success", value: { stdout: "x" } } }) });
    const run = await client.say('@sim exec shell {"command":"ls"}', { intercept });
    const limits = { timeout: 30_000, hardTimeout: 86_400_000, fileOutputThresholdBytes: 40_000n, closeStdin: true };
    expect(toolExecs(run)[0]?.message.value).toMatchObject(limits);
  });

  it("fact 18: turn_ended has the figures, whatever was counted before", async () => {
    const { client } = await setUp(transport);
    const { usage } = await client.say("@sim tokens 40 ;; usage 388564 5870 346112");
    expect(usage).toMatchObject({ inputTokens: 388_564n, outputTokens: 5870n, cacheReadTokens: 346_112n });
  });

  it("fact 29: the completion of a task in the background is ended at once, without tokens", async () => {
    const { client } = await setUp(transport, { tools });
    await client.say("@sim usage 5 6 ;; call look {} ;; say hi");
    const run = await client.run({ action: { case: "backgroundTaskCompletionAction", value: new Uint8Array() } });
    expect([run.error, run.updates, run.messages.length]).toEqual([undefined, ["turnEnded"], 1]);
    expect(run.usage).toMatchObject({ inputTokens: 0n, outputTokens: 0n, cacheReadTokens: 0n });
  });
});

describe.each(TRANSPORTS)("the ends of the records, over %s", (transport) => {
  it("fact 24: a client that says nothing loses its run", async () => {
    const { client } = await setUp(transport, { tools: { look: () => new Promise(() => {}) } }, { idleMs: 200 });
    const { error } = await client.say("@sim call look {}");
    expect([error?.kind, error?.message]).toEqual(["timeout", "Timeout waiting for next item."]);
  });

  it("fact 25: an error may follow turn_ended", async () => {
    const { client } = await setUp(transport);
    const run = await client.say("@sim fault error-after-end ;; say hi");
    expect([run.text, run.updates.includes("turnEnded"), run.error?.kind]).toEqual(["hi", true, "upstream-failed"]);
  });
});

describe("the bytes of the records", () => {
  const say = async (prompt: string, headers: Record<string, string> = RUN_HEADERS) => {
    const { sim } = await setUp("h2");
    return postRun(sim.url, headers, encodeFrame(encodeMessage(saying(prompt))));
  };

  it("fact 19: a run needs no more than a token and a content type", async () => {
    const bogus = { ...RUN_HEADERS, "x-cursor-client-version": "none", "x-cursor-checksum": "wrong" };
    expect(await say("@sim say hi", bogus)).toMatchObject({ status: 200, end: "{}" });
  });

  it("fact 21: a run may be JSON", async () => {
    const { sim } = await setUp("h2");
    const runRequest = {
      action: { userMessageAction: { userMessage: { text: "@sim say hi" }, requestContext: {} } },
    };
    const type = "application/connect+json";
    const frame = encodeFrame(Buffer.from(JSON.stringify({ runRequest })));
    const answer = await postRun(sim.url, { ...RUN_HEADERS, "content-type": type }, frame);
    expect([answer.status, answer.type, answer.end]).toEqual([200, type, "{}"]);
    expect(answer.messages).toContainEqual({ interactionUpdate: { textDelta: { text: "hi" } } });
  });

  it("fact 21: what is no JSON ends the run, and RunSSE takes none", async () => {
    const { sim } = await setUp("h2");
    const type = "application/connect+json";
    const { end } = await postRun(sim.url, { ...RUN_HEADERS, "content-type": type }, encodeFrame(Buffer.from("{")));
    expect(JSON.parse(end ?? "")).toMatchObject({ error: { code: "invalid_argument" } });
    const url = `${sim.url}/agent.v1.AgentService/RunSSE`;
    const response = await fetch(url, {
      method: "POST",
      headers: { ...RUN_HEADERS, "content-type": type },
      body: "{}",
    });
    expect([response.status, await response.text()]).toEqual([415, ""]);
  });

  it("fact 22: who is not logged in is told so in these words and this order", async () => {
    const { end } = await say("@sim say hi", { "content-type": RUN_HEADERS["content-type"] });
    expect(end).toMatch(
      /^\{"error":\{"code":"unauthenticated","message":"Error","details":\[\{"type":"aiserver.v1.ErrorDetails","debug":\{"error":"ERROR_NOT_LOGGED_IN","details":\{"title":"Authentication error","detail":"If you are logged in, try logging out and back in.","isRetryable":false,"analyticsMetadata":\{"actionRequired":"login"\}\},"isExpected":true\},"value":"[\w+/]+"\}\]\}\}$/,
    );
  });

  it("fact 23: the type of an error stands beside it", async () => {
    const { end } = await say("@sim fail unavailable type=PROVIDER_ERROR busy");
    expect(end).toBe(
      '{"error":{"code":"unavailable","message":"busy"},"metadata":{"x-cursor-inference-request-error-type":["PROVIDER_ERROR"]}}',
    );
  });

  it("fact 26: an overflow is a bare resource_exhausted before any token", async () => {
    const { messages, end } = await say("@sim fail resource_exhausted");
    expect(end).toBe('{"error":{"code":"resource_exhausted","message":"Error"}}');
    expect(JSON.stringify(messages)).not.toMatch(/Delta|turnEnded/);
  });

  it("fact 27: RunSSE may call itself text/event-stream, with the same frames, compressed", async () => {
    const { sim } = await setUp("h1");
    const rpc = async (path: string, type: string, body: Uint8Array) =>
      fetch(sim.url + path, {
        method: "POST",
        headers: { ...RUN_HEADERS, "content-type": type },
        body: Buffer.from(body),
      });
    const first = encodeAppend({
      requestId: "r",
      seqno: 0n,
      payload: encodeMessage(saying("@sim fault sse-type ;; say hi")),
    });
    await rpc("/aiserver.v1.BidiService/BidiAppend", "application/proto", first);
    const id = toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "r" }));
    const response = await rpc("/agent.v1.AgentService/RunSSE", "application/connect+proto", encodeFrame(id));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const flags: number[] = [];
    const body = Buffer.from(await response.arrayBuffer());
    new FrameDecoder({ maxFrameBytes: 1 << 20 }).push(body, (flag) => flags.push(flag));
    expect(new Set(flags.slice(0, -1))).toEqual(new Set([FLAG_COMPRESSED]));
    expect(flags.at(-1)).toBe(FLAG_END);
  });

  it("fact 32: an outdated client is told so in the order of the golden frame", async () => {
    const { end = "" } = await say(
      '@sim fail resource_exhausted ERROR_GPT_4_VISION_PREVIEW_RATE_LIMIT title="Update Required" x',
    );
    const { error } = JSON.parse(end);
    expect(Object.keys(error)).toEqual(["code", "message", "details"]);
    expect(Object.keys(error.details[0])).toEqual(["type", "debug", "value"]);
    expect(error.details[0].debug).toMatchObject({ error: "ERROR_GPT_4_VISION_PREVIEW_RATE_LIMIT", isExpected: true });
    expect(error.details[0].value).toMatch(/^CBwS/);
  });

  it("fact 33: a wrong content type is 415 and empty, bytes that are no protobuf are internal", async () => {
    expect(await say("@sim say hi", { ...RUN_HEADERS, "content-type": "text/plain" })).toMatchObject({
      status: 415,
      messages: [],
      end: undefined,
    });
    const { sim } = await setUp("h2");
    const headers = { ...RUN_HEADERS, "content-type": "application/proto" };
    const url = `${sim.url}/agent.v1.AgentService/NameAgent`;
    const response = await fetch(url, { method: "POST", headers, body: Buffer.from([0x6f]) });
    expect([response.status, await response.json()]).toEqual([
      500,
      { code: "internal", message: expect.stringMatching(/^parse binary: /) },
    ]);
    const { end } = await postRun(sim.url, RUN_HEADERS, encodeFrame(Uint8Array.of(0x6f)));
    expect(JSON.parse(end ?? "")).toMatchObject({
      error: { code: "internal", message: expect.stringMatching(/^parse binary: /) },
    });
  });
});
