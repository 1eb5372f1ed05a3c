import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../../src/core/events.ts";
import { textOf } from "../../../../src/core/turn.ts";
import { createServeRun } from "../../../../src/faces/cursor/run/serve-run.ts";
import { BidiRequestIdSchema } from "../../../../src/gen/aiserver/v1/bidi_pb.ts";
import { encodeAppend } from "../../../../src/wire/agent/bidi-append.ts";
import { encodeFrame } from "../../../../src/wire/connect/envelope.ts";
import { encodeMessage, postRun, saying } from "../../../sim/support/raw-run.ts";
import { CursorClient } from "../support/cursor-client.ts";
import { CALLS, call, engineWith, STOP, say } from "../support/models.ts";
import { KEY, LOCAL, setUpFace } from "../support/stage.ts";

/** The numbers are those of the facts that are known of the real backend. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cursor-face-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(...answers: (readonly TurnEvent[])[]) {
  const { engine, turns } = engineWith((_, nth) => answers[nth] ?? [say("?"), STOP]);
  return { client: new CursorClient({ folder, serve: createServeRun({ engine }) }), turns };
}

it("fact 2: a checkpoint with open calls names them, the last is staged and then settled", async () => {
  const { client } = open(
    [call("a", "shell", { command: "echo 1" }), call("b", "shell", { command: "echo 2" }), CALLS],
    [say("done"), STOP],
  );
  const run = client.ask("hi");
  await run.ended;
  const pending = run.checkpoints.map(({ pendingToolCalls }) => pendingToolCalls.map((part) => JSON.parse(part)));
  expect(pending[0]).toHaveLength(2);
  expect(pending.slice(-3)).toEqual([[], [{ type: "text", text: "done" }], []]);
  expect(pending[0]).toMatchObject([
    { type: "tool-call", toolName: "shell", args: { command: "echo 1" } },
    { type: "tool-call", toolName: "shell", args: { command: "echo 2" } },
  ]);
  expect(run.kinds.slice(-3)).toEqual(["turnEnded", "conversationCheckpointUpdate", "conversationCheckpointUpdate"]);
});

it.each([
  ["whose arguments stream", [{ type: "tool-call-start", id: "a", name: "shell" } as const]],
  ["that comes at once", []],
])("fact 12: a call %s begins with an empty part", async (_, before) => {
  const { client } = open([...before, call("a", "shell", { command: "echo 1" }), CALLS], [say("done"), STOP]);
  const run = client.ask("hi");
  await run.ended;
  const parts = run.updates.flatMap((update) => (update.case === "partialToolCall" ? [update.value] : []));
  expect(parts.map(({ argsTextDelta }) => argsTextDelta)).toEqual(["", '{"command":"echo 1"}']);
  expect(parts[0]?.toolCall?.tool).toMatchObject({ case: "shellToolCall" });
  expect(parts[0]?.toolCall?.tool.value).not.toHaveProperty("args.command");
});

it("fact 17: a shell command brings its limits, and the file of a long output is named", async () => {
  const { engine, turns } = engineWith((_, nth) =>
    nth === 0 ? [call("a", "shell", { command: "seq 9" }), CALLS] : [say("done"), STOP],
  );
  const outputLocation = { filePath: "/tmp/out.txt", sizeBytes: 50_000n };
  const client = new CursorClient({
    folder,
    serve: createServeRun({ engine }),
    reply: ({ message }) =>
      message.case === "shellStreamArgs"
        ? { case: "shellStream", value: { event: { case: "exit", value: { code: 0, outputLocation } } } }
        : undefined,
  });
  const run = client.ask("hi");
  await run.ended;
  const asked = run.execs.find(({ message }) => message.case === "shellStreamArgs");
  expect(asked?.message.value).toMatchObject({
    timeout: 120_000,
    hardTimeout: 86_400_000,
    fileOutputThresholdBytes: 40_000n,
    closeStdin: true,
  });
  expect(textOf(turns[1]?.messages.at(-1)?.content ?? [])).toContain("50000 bytes, is in /tmp/out.txt");
});

describe("the content type of a run of an own model", () => {
  const RUN = { authorization: `Bearer ${KEY}` };
  const setUp = async () => {
    const { engine, turns } = engineWith(() => [say("hi"), STOP]);
    const serve = createServeRun({ engine });
    const { url } = await setUpFace("http://127.0.0.1:9", {
      serveRun: (peer) => serve(peer, "m"),
      models: [LOCAL],
    });
    return { url, turns };
  };
  const request = saying("hello", "excursor/local");

  it("fact 19: another type than that of a stream is 415, and empty", async () => {
    const { url, turns } = await setUp();
    const body = encodeFrame(encodeMessage(request));
    expect(await postRun(url, { ...RUN, "content-type": "text/plain" }, body)).toMatchObject({
      status: 415,
      messages: [],
      end: undefined,
    });
    expect(turns).toHaveLength(0);
    const type = "application/connect+proto";
    expect(await postRun(url, { ...RUN, "content-type": type }, body)).toMatchObject({ status: 200, end: "{}" });
  });

  it("fact 19: and so it is over HTTP/1.1", async () => {
    const { url, turns } = await setUp();
    const post = (path: string, type: string, body: Uint8Array) =>
      fetch(url + path, { method: "POST", headers: { ...RUN, "content-type": type }, body: Buffer.from(body) });
    const append = encodeAppend({ requestId: "r", seqno: 0n, payload: encodeMessage(request) });
    const id = toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "r" }));
    const [response] = await Promise.all([
      post("/agent.v1.AgentService/RunSSE", "text/plain", encodeFrame(id)),
      post("/aiserver.v1.BidiService/BidiAppend", "application/proto", append),
    ]);
    expect([response.status, await response.text(), turns.length]).toEqual([415, "", 0]);
  });

  it("fact 21: a run may be JSON", async () => {
    const { url, turns } = await setUp();
    const { action, requestedModel } = {
      action: { userMessageAction: { userMessage: { text: "hello" } } },
      requestedModel: { modelId: "excursor/local" },
    };
    const body = encodeFrame(Buffer.from(JSON.stringify({ runRequest: { action, requestedModel } })));
    const answer = await postRun(url, { ...RUN, "content-type": "application/connect+json" }, body);
    expect([answer.status, answer.type, answer.end]).toEqual([200, "application/connect+json", "{}"]);
    expect(answer.messages).toContainEqual({ interactionUpdate: { textDelta: { text: "hi" } } });
    expect(turns).toHaveLength(1);
  });
});

it("attached documents reach the model, also in later turns; what is not text, and videos, are named as left out", async () => {
  const { client, turns } = open([say("One"), STOP], [say("Two"), STOP]);
  const data = (text: string | Uint8Array) => ({ case: "data" as const, value: Buffer.from(text) });
  const selectedContext = {
    selectedDocuments: [
      { filename: "notes.md", mimeType: "text/markdown", dataOrBlobId: data("# Notes") },
      { filename: "a.pdf", path: "/w/a.pdf", mimeType: "application/pdf", dataOrBlobId: data("%PDF-1.7") },
      { filename: "b.bin", dataOrBlobId: data(Uint8Array.of(0xff, 0)) },
    ],
    selectedVideos: [{ filename: "clip.mp4", dataOrBlobId: data("moov") }],
  };
  const userMessage = { text: "first", selectedContext };
  await client.ask("", { action: { action: { case: "userMessageAction", value: { userMessage } } } }).ended;
  await client.ask("second", { runId: "run-2" }).ended;
  expect(turns).toHaveLength(2);
  for (const { messages } of turns) {
    expect(textOf(messages[0]?.content ?? []).split("\n\n")).toEqual([
      '<document name="notes.md">\n# Notes\n</document>',
      "Attached document: /w/a.pdf. It was left out, because it is not text.",
      "Attached document: b.bin. It was left out, because it is not text.",
      "Attached video: clip.mp4. It was left out, because it cannot be shown here.",
      "first",
    ]);
  }
});
