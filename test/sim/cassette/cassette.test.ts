import { readFileSync, truncateSync } from "node:fs";
import { rm } from "node:fs/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { readCapture } from "../../../src/capture/capture-reader.ts";
import { GetServerConfigResponseSchema } from "../../../src/gen/aiserver/v1/server_config_pb.ts";
import { type CassetteCall, loadCassette } from "../../../src/replay/cassette.ts";
import { openMasked } from "../../capture/support/masked-records.ts";
import type { BackendClient, ClientOptions, RunRecord } from "../support/backend-client.ts";
import { recordCassette } from "../support/record-cassette.ts";
import { setUp, TRANSPORTS } from "../support/transports.ts";

const files: string[] = [];
afterEach(async () => {
  for (const file of files.splice(0)) await rm(file, { force: true });
});

const tools = { look: () => "a file" };
const FIRST = '@sim think hm ;; call look {"path":"a"} ;; say it holds {{result}}';
const talk = async (client: BackendClient) => [await client.say(FIRST), await client.say("@sim say and again")];
const summary = (runs: readonly RunRecord[]) =>
  runs.map(({ text, thinking, updates, error }) => ({
    text,
    thinking,
    updates: updates.filter((kind) => kind !== "heartbeat"),
    error: error?.message,
  }));

async function record(transport: "h1" | "h2", act = talk, options: Partial<ClientOptions> = {}) {
  const { sim } = await setUp(transport);
  let runs: readonly RunRecord[] = [];
  const file = await recordCassette({ url: sim.url, transport, tools, ...options }, async (client) => {
    runs = await act(client);
  });
  files.push(file);
  return { file, runs };
}

async function play(file: string, transport: "h1" | "h2", options: Partial<ClientOptions> = {}) {
  const left: string[] = [];
  const cassette = await loadCassette(openMasked(file));
  const stage = await setUp(transport, { tools, ...options }, { cassette, onLeave: (text) => left.push(text) });
  return { client: stage.client, left };
}

describe.each(TRANSPORTS)("recorded over %s", (recorded) => {
  test.each(TRANSPORTS)("a conversation plays the same to another client over %s", async (transport) => {
    const { file, runs } = await record(recorded);
    const { client, left } = await play(file, transport);
    const played = await talk(client);
    expect(left).toEqual([]);
    expect(summary(played)).toEqual(summary(runs));
    expect(played[0]?.text).toBe("it holds a file");
    // The blobs of the new client hold its own ids, under the digests of their content.
    for (const [id, content] of client.blobs) expect(client.storeBlob(content)).toEqual(Buffer.from(id, "hex"));
    const blobs = [...client.blobs.values()].map((content) => Buffer.from(content).toString("latin1")).join();
    expect(client.state?.turns).toHaveLength(2);
    expect(blobs).toContain("and again");
  });
});

describe.each(TRANSPORTS)("a client that leaves the cassette, over %s", (transport) => {
  test("with its first message", async () => {
    const { file } = await record(transport);
    const { client, left } = await play(file, transport);
    const { error } = await client.say("something else");
    expect(error?.message).toContain("no recorded call begins with run_request");
    expect(left).toEqual([expect.stringContaining("something else")]);
  });

  test("with the result of a tool", async () => {
    const { file } = await record(transport);
    const { client, left } = await play(file, transport, { tools: { look: () => "another file" } });
    const { error } = await client.say(FIRST);
    expect(error?.message).toContain('it sent exec_client_message.mcp_result "another file"');
    expect(left).toHaveLength(1);
  });
});

test.each(TRANSPORTS)(
  "what the capture masks in a prompt is what the client says again, over %s",
  async (transport) => {
    const prompt = "@sim say written to ada.lovelace@example.com with (sk-proj-0123456789abcdefghij)";
    const say = async (client: BackendClient) => [await client.say(prompt)];
    const { file } = await record(transport, say);
    const said = (await loadCassette(openMasked(file))).calls.flatMap(({ messages }) => messages);
    expect(Buffer.concat(said.map(({ bytes }) => bytes)).includes("lovelace")).toBe(false);
    const { client, left } = await play(file, transport);
    const { text, error } = await client.say(prompt);
    expect([text, error, left]).toEqual([prompt.replace("@sim say ", ""), undefined, []]);
    const another = await play(file, transport);
    expect((await another.client.say(prompt.replace("with", "without"))).error?.message).toContain("no recorded call");
  },
);

test("an error of the backend plays as it was", async () => {
  const fail = async (client: BackendClient) => [await client.say("@sim say one ;; fail resource_exhausted")];
  const { file, runs } = await record("h2", fail);
  expect(runs[0]?.error).toBeDefined();
  const { client } = await play(file, "h2");
  expect(summary(await fail(client))).toEqual(summary(runs));
});

describe.each(TRANSPORTS)("a stream that broke off over %s", (transport) => {
  test.each(["rst", "rst code=8", "tcp-reset", "truncate"])("by %s breaks off in the same way", async (fault) => {
    const broken = async (client: BackendClient) => [await client.say(`@sim say one ;; fault ${fault} ;; say two`)];
    const { file, runs } = await record(transport, broken);
    const { client, left } = await play(file, transport);
    const [played] = await broken(client);
    const seen = (run: RunRecord | undefined) => [run?.text, run?.error?.code, run?.error?.context["http2Code"]];
    expect(runs[0]?.error).toBeDefined();
    expect(seen(played)).toEqual(seen(runs[0]));
    expect(left).toEqual([]);
  });
});

test.each(TRANSPORTS)("folders that the capture masks are those of the client again, over %s", async (transport) => {
  const paths: unknown[] = [];
  const withPath = {
    tools: {
      look({ path }: Readonly<Record<string, unknown>>) {
        paths.push(path);
        return `the file ${path} is in /home/ada/project`;
      },
    },
  };
  const act = async (client: BackendClient) => [
    await client.say('@sim call look {"path":"/home/ada/project/a.txt"} ;; say {{result}}'),
    await client.say('@sim call look {"path":"/home/ada/project/b.txt"} ;; say {{result}}'),
  ];
  const { file, runs } = await record(transport, act, withPath);
  expect(readFileSync(file).includes("/home/ada")).toBe(true);
  const { client, left } = await play(file, transport, withPath);
  expect(summary(await act(client))).toEqual(summary(runs));
  expect(left).toEqual([]);
  expect(paths).toEqual([1, 2].flatMap(() => ["/home/ada/project/a.txt", "/home/ada/project/b.txt"]));
});

test("a recorded server config names no hosts, which the client would leave for", async () => {
  const { file } = await record("h2");
  const { calls } = await loadCassette(openMasked(file));
  const config = {
    cliSandboxDefaultEnabled: true,
    useNlbForNal: true,
    agentUrlConfig: { agentUrl: "https://agent.example" },
  };
  const bytes = toBinary(GetServerConfigResponseSchema, create(GetServerConfigResponseSchema, config));
  const path = "/aiserver.v1.ServerConfigService/GetServerConfig";
  const headers = { "content-type": "application/proto" };
  const received = {
    at: 0,
    direction: "received",
    form: "body",
    flags: 0,
    wasCompressed: false,
    isEnd: false,
  } as const;
  const call: CassetteCall = {
    head: { method: "POST", origin: "https://backend.example", path, headers, transport: "h1" },
    ...{ path, method: undefined, response: { status: 200, headers }, outcome: "ok", cut: {} },
    messages: [{ ...received, bytes, meaning: { kind: "message", texts: [] } }],
  };
  const { sim } = await setUp("h2", {}, { cassette: { calls: [...calls, call], problem: undefined } });
  const answer = await fetch(`${sim.url}${path}`, { method: "POST", headers, body: "" });
  const played = fromBinary(GetServerConfigResponseSchema, Buffer.from(await answer.arrayBuffer()));
  expect([played.cliSandboxDefaultEnabled, played.useNlbForNal, played.agentUrlConfig]).toEqual([
    true,
    false,
    undefined,
  ]);
});

test("an error of HTTP plays as one, though the recorded client did not read it to its end", async () => {
  const fail = async (client: BackendClient) => [await client.say("@sim fail http=503")];
  const { file, runs } = await record("h2", fail);
  const cassette = await loadCassette(openMasked(file));
  const calls = cassette.calls.map((call) => ({
    ...call,
    messages: call.messages.filter(({ direction }) => direction === "sent"),
    outcome: "aborted",
  }));
  const { client } = await setUp("h2", { tools }, { cassette: { ...cassette, calls } });
  const [played] = await fail(client);
  expect(played?.error?.kind).toBe("upstream-unavailable");
  expect(played?.error?.kind).toBe(runs[0]?.error?.kind);
});

test("a client may confirm more blobs than the recorded one", async () => {
  const { file, runs } = await record("h2");
  const cassette = await loadCassette(openMasked(file));
  const isLast = (kind: string) => kind === "kv_client_message.set_blob_result";
  const calls = cassette.calls.map((call) => {
    const last = call.messages.findLastIndex(({ meaning }) => isLast(meaning.kind));
    return { ...call, messages: call.messages.toSpliced(last, last < 0 ? 0 : 1) };
  });
  const left: string[] = [];
  const onLeave = (text: string) => left.push(text);
  const { client } = await setUp("h2", { tools }, { cassette: { ...cassette, calls }, onLeave });
  expect(summary(await talk(client))).toEqual(summary(runs));
  expect(left).toEqual([]);
});

test("a recording that was cut at any record plays up to there", async () => {
  const say = async (client: BackendClient) => [await client.say("@sim say one two three four")];
  const { file, runs } = await record("h2", say);
  const ends: number[] = [];
  for await (const { offset, type } of readCapture(file)) if (type === "message") ends.push(offset);
  let text = "";
  for (const end of ends.toReversed().slice(0, -1)) {
    truncateSync(file, end);
    const { client } = await play(file, "h2");
    const [cut] = await say(client);
    expect(cut?.error).toBeDefined();
    expect(runs[0]?.text.startsWith(cut?.text ?? "?")).toBe(true);
    text = cut?.text ?? "";
  }
  expect(text).toBe("");
});
