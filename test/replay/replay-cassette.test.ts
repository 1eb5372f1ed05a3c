import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { truncateSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { captureTransport } from "../../src/capture/capture-transport.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import { Secret } from "../../src/core/secret.ts";
import { loadCassette } from "../../src/replay/cassette.ts";
import { type CallReplay, othersOf, replayCassette } from "../../src/replay/replay-cassette.ts";
import { headersWith } from "../../src/replay/replay-target.ts";
import type { SimOptions } from "../../src/sim/options.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { callHttp } from "../../src/wire/http/http-call.ts";
import { wireLimits } from "../../src/wire/limits.ts";
import { openMasked } from "../capture/support/masked-records.ts";
import type { BackendClient } from "../sim/support/backend-client.ts";
import { recordCassette } from "../sim/support/record-cassette.ts";
import { setUp, TRANSPORTS } from "../sim/support/transports.ts";

const files: string[] = [];
afterEach(async () => {
  for (const file of files.splice(0)) await rm(file, { force: true });
});

const tools = { look: () => "a file" };
const FIRST = '@sim think hm ;; call look {"path":"a"} ;; say it holds {{result}}';
const SECRET_PROMPT = "@sim say written to ada.lovelace@example.com";

async function record(
  transport: "h1" | "h2",
  act: (client: BackendClient) => Promise<unknown>,
  options: Partial<SimOptions> = {},
): Promise<string> {
  const { sim } = await setUp(transport, {}, options);
  const file = await recordCassette({ url: sim.url, transport, tools }, act);
  files.push(file);
  return file;
}

async function replay(
  file: string,
  options: Partial<SimOptions> = {},
  timeoutMs = 20_000,
  isPaced = false,
  sendsAll = false,
) {
  const { sim, trace } = await setUp("h2", {}, options);
  const transports = { h1: createHttp1Transport(), h2: createConnectionPool() };
  const calls: CallReplay[] = [];
  const headersFor = headersWith(new Secret("a-token"), sendsAll);
  const target = { origin: sim.url, transports, isPaced, sendsAll, timeoutMs, headersFor };
  for await (const call of replayCassette(await loadCassette(openMasked(file)), target)) calls.push(call);
  transports.h1.destroy();
  transports.h2.destroy();
  return { calls, trace };
}

describe.each(TRANSPORTS)("recorded over %s", (transport) => {
  test("a conversation with a tool gets the same answers from the same backend", async () => {
    const file = await record(transport, async (client) => {
      await client.say(FIRST);
      await client.say("@sim say before: {{history}}");
    });
    const { calls, trace } = await replay(file);
    expect(calls.map(({ path, result, difference }) => [path, result, difference])).toEqual([
      ["/agent.v1.AgentService/Run", "same", undefined],
      ["/agent.v1.AgentService/Run", "same", undefined],
    ]);
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    expect(new Set(trace.map((entry) => entry.transport))).toEqual(new Set([transport]));
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  test("a blob that was masked is given under the id of its masked content", async () => {
    const file = await record(transport, async (client) => {
      await client.say(SECRET_PROMPT);
      await client.say("@sim say again {{history}}");
    });
    const { calls } = await replay(file);
    // The mask of the address is in both the prompt and the answer.
    expect(calls.map(({ result, difference }) => [result, difference])).toEqual([
      ["same", undefined],
      ["same", undefined],
    ]);
  });

  test("names the first difference, with both values", async () => {
    const file = await record(transport, (client) => client.say("hello"), { script: "@sim say one thing" });
    const { calls } = await replay(file, { script: "@sim say another thing" });
    expect(calls).toMatchObject([
      {
        call: 1,
        result: "different",
        difference: {
          recorded: { kind: "interaction_update.text_delta", text: "one thing" },
          now: { kind: "interaction_update.text_delta", text: "another thing" },
        },
      },
    ]);
  });

  test("a backend that asks for something else is different there, and waits for nothing", async () => {
    const file = await record(transport, (client) => client.say("hello"), { script: "@sim say hi" });
    const { calls } = await replay(file, { script: "@sim call look {} ;; say hi" });
    expect(calls).toMatchObject([{ result: "different" }]);
    expect(calls[0]?.difference?.now?.kind).toMatch(/tool/);
  });

  test("a backend that falls silent is different there", async () => {
    const file = await record(transport, (client) => client.say("hello"), { script: "@sim say hi" });
    const { calls } = await replay(file, { script: "@sim say hi ;; silent 60000" }, 300);
    expect(calls[0]?.difference?.now).toEqual({ kind: "end", text: "silence" });
  });

  test("an error is the same if its code is", async () => {
    const file = await record(transport, (client) => client.say("@sim say one ;; fail resource_exhausted"));
    expect((await replay(file)).calls).toMatchObject([{ result: "same" }]);
  });

  test("keeps the pauses of the recorded client if it is told so", async () => {
    const { sim } = await setUp(transport);
    /** Records a client that cancels its run after a pause. */
    const recordPause = async (pauseMs: number) => {
      let at = 1e12;
      let hasCancelled = false;
      const act = (client: BackendClient) =>
        client.say("@sim say a ;; silent 600000", {
          intercept(message, send) {
            if (message.case !== "conversationCheckpointUpdate" || hasCancelled) return false;
            hasCancelled = true;
            at += pauseMs;
            send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
            return true;
          },
        });
      const file = await recordCassette({ url: sim.url, transport, tools }, act, undefined, () => at++);
      files.push(file);
      return file;
    };
    const paced = await replay(await recordPause(700), {}, 20_000, true);
    expect(paced.calls).toMatchObject([{ result: "same" }]);
    expect(paced.calls[0]?.ms).toBeGreaterThanOrEqual(700);
    // An hour is not kept otherwise: the cancel comes, and ends the call.
    const { trace } = await replay(await recordPause(3_600_000));
    expect(trace.filter(({ kind }) => kind === "conversation_action")).toHaveLength(1);
  });

  test("a recording without an end is compared up to there", async () => {
    const file = await record(transport, (client) => client.say("hello"), { script: "@sim say one two three four" });
    const offsets: number[] = [];
    for await (const { offset, type } of readCapture(file)) if (type === "message") offsets.push(offset);
    for (const offset of [offsets.at(-1), offsets[offsets.length >> 1], offsets[3]]) {
      truncateSync(file, offset);
      const { calls } = await replay(file, { script: "@sim say one two three four" });
      // Over HTTP/1.1 an upload may be cut, too.
      expect(calls.filter(({ path }) => path.endsWith("/Run"))).toMatchObject([{ result: "same" }]);
    }
  });
});

test("unary calls are compared by status and texts, statistics and other APIs are not sent", async () => {
  const { sim } = await setUp("h1");
  const file = join(tmpdir(), `excursor-${randomUUID()}.capture`);
  files.push(file);
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e7, onEnd: expect.unreachable }));
  const transport = captureTransport(createHttp1Transport(), "h1", recorder);
  const headers = { authorization: "Bearer recorded-token-1", "content-type": "application/proto" };
  for (const path of [
    "/aiserver.v1.ServerConfigService/GetServerConfig",
    "/aiserver.v1.AnalyticsService/TrackEvents",
    "/aiserver.v1.NoService/NoMethod",
    "/v1/models",
  ]) {
    const request = { origin: sim.url, path, headers };
    await callHttp({ transport, request, body: new Uint8Array(), limits: wireLimits() });
  }
  transport.destroy();
  recorder.close();
  const results = async (options: Partial<SimOptions>) =>
    (await replay(file, options, 20_000, false, true)).calls.map(({ result, reason, difference }) => [
      result,
      reason ?? difference?.step,
    ]);
  const rest = [
    ["skipped", "statistics are not sent twice"],
    ["same", undefined],
    ["skipped", "it is no call of Cursor's protocol"],
  ];
  expect(await results({})).toEqual([["same", undefined], ...rest]);
  const file2 = await record("h2", (client) => client.say("@sim say hi"));
  const { calls } = await replay(file2, { cassette: await loadCassette(openMasked(file)) });
  expect(calls).toMatchObject([{ difference: { now: { kind: "end", text: "failed_precondition" } } }]);
});

test("A27 a capture of somebody else makes no call of its own with the user's token, and sends no header", async () => {
  const file = join(tmpdir(), `excursor-${randomUUID()}.capture`);
  files.push(file);
  const writer = new CaptureWriter({ file, maxBytes: 1e7, onEnd: expect.unreachable });
  const paths = [
    "/aiserver.v1.DashboardService/GetMe",
    "/aiserver.v1.DashboardService/DeleteAccount",
    "/aiserver.v1.DashboardService/CreateUserApiKey",
    "/aiserver.v1.BidiService/BidiAppend",
    "/agent.v1.AgentService/RunSSE/../../../aiserver.v1.DashboardService/DeleteAccount",
  ];
  const headers = { "content-type": "application/proto", "x-team-id": "7", "x-http-method-override": "DELETE" };
  for (const [index, path] of paths.entries()) {
    const [call, at] = [index + 1, 1e12 + index];
    const head = { method: "POST", origin: "https://cursor.test", path, headers, transport: "h1" } as const;
    writer.write({ type: "call", call, at, head });
    writer.write({ type: "response", call, at, head: { status: 200, headers: {} } });
    writer.write({ type: "end", call, at, end: { outcome: "ok", sentBytes: 0, receivedBytes: 0 } });
  }
  writer.close();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "", ...Object.keys(request.headers).filter((name) => name in headers));
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = async (sendsAll: boolean) => {
    const transports = { h1: createHttp1Transport(), h2: createConnectionPool() };
    const headersFor = headersWith(new Secret("a-token"), sendsAll);
    const target = { origin, transports, isPaced: false, sendsAll, timeoutMs: 20_000, headersFor };
    const cassette = await loadCassette(openMasked(file));
    const calls = await Array.fromAsync(replayCassette(cassette, target));
    transports.h1.destroy();
    transports.h2.destroy();
    return { calls, others: othersOf(cassette) };
  };
  try {
    const { calls, others } = await send(false);
    expect(asked).toEqual([paths[0], "content-type"]);
    expect(calls.map(({ result }) => result === "skipped")).toEqual([false, true, true, true, true]);
    expect(others).toEqual([
      "header x-team-id",
      "header x-http-method-override",
      ...paths.slice(1, 4).map((path) => `POST ${path}`),
    ]);
    asked.length = 0;
    await send(true);
    expect(asked.filter((one) => one.startsWith("/"))).toEqual(paths.slice(0, 4));
  } finally {
    server.close();
  }
});
