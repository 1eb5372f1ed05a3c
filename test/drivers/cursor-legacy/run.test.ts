import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import type { AccessTokens } from "../../../src/core/access/access.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { createLegacyDriver } from "../../../src/drivers/cursor-legacy/driver.ts";
import type { PreparedTurn } from "../../../src/drivers/cursor-legacy/protocol.ts";
import { StreamUnifiedChatResponseWithToolsSchema } from "../../../src/gen/aiserver/v1/unified_chat_pb.ts";
import type { SimOptions } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { encodeFrame, FLAG_END } from "../../../src/wire/connect/envelope.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { madeUpTransport } from "../../wire/support/made-up-transport.ts";
import { assistant, aTurn, open, read, user } from "../cursor/support/driver-stage.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp(
  method: "chat" | "unified",
  options: Partial<SimOptions> = { legacy: "on" },
  access: AccessTokens = createFixedAccess(new Secret("tester")),
  prepared: Partial<PreparedTurn> = {},
) {
  const sim = await startSim(options);
  const transport = createConnectionPool();
  cleanups.push(sim.close, () => transport.destroy());
  return createLegacyDriver({
    origin: sim.url,
    transport,
    method,
    access,
    models: {
      list: async () => [],
      find: () => Promise.reject(new Error("nobody asks")),
      prepare: async (turn) => ({ turn, maxMode: false, ignoresEffort: false, ...prepared }),
    },
  });
}

const look = { name: "look", description: "", schema: { type: "object" } };

describe.each(["chat", "unified"] as const)("the older chat calls: %s", (method) => {
  it.each([
    ["tester", "hello", undefined],
    ["invalid-too", "", "unauthenticated"],
    [undefined, "", "unauthenticated"],
  ])("renew a token that is refused, once: %j", async (renewed, text, kind) => {
    let renewals = 0;
    const driver = await setUp(method, undefined, {
      get: async () => ({ account: "a", token: new Secret("invalid-first") }),
      renew: async () => {
        renewals++;
        return renewed === undefined ? undefined : { account: "a", token: new Secret(renewed) };
      },
    });
    const outcome = await read(open(driver, aTurn([user("@sim say hello")])));
    expect([outcome.text, outcome.error && ExcursorError.from(outcome.error).kind, renewals]).toEqual([text, kind, 1]);
  });

  it("bring conversation, instructions and model to the backend, and its text back", async () => {
    const driver = await setUp(method);
    const turn = aTurn([user("one"), assistant("two"), user("@sim say {{system}}|{{history}}|{{model}}")], {
      system: "Be brief.",
    });
    const { text, error, events } = await read(open(driver, turn));
    expect(error).toBeUndefined();
    expect(text).toBe("Be brief.|user: one\nassistant: two|gpt-5.5");
    expect(events.at(-1)).toEqual({ type: "done", reason: "stop" });
  });

  it("ask for max mode, and tell of an effort that the model has not", async () => {
    const driver = await setUp(method, undefined, undefined, { maxMode: true, ignoresEffort: true });
    const { text, events } = await read(open(driver, aTurn([user("@sim say {{model}}")])));
    expect(text).toBe("gpt-5.5 max_mode=true");
    expect(events[0]).toEqual({ type: "notice", code: "ignored", text: "effort" });
  });

  it("carry images as Markdown", async () => {
    const driver = await setUp(method);
    const content = [
      { type: "image" as const, mediaType: "image/png", data: Uint8Array.of(1, 2, 3) },
      { type: "text" as const, text: "\nwhat is this?" },
    ];
    const { text } = await read(open(driver, aTurn([{ role: "user", content }])));
    expect(text).toContain("![image](data:image/png;base64,AQID)");
  });

  it("fail with the backend's own reason", async () => {
    const driver = await setUp(method);
    const { error } = await read(open(driver, aTurn([user("@sim fail resource_exhausted ERROR_RATE_LIMITED slow")])));
    expect(error).toMatchObject({ kind: "rate-limited" });
  });

  it("stop when the client is gone", async () => {
    const driver = await setUp(method);
    const run = open(driver, aTurn([user("@sim say a ;; silent 60000")]));
    await expect(async () => {
      for await (const _ of run) run.cancel();
    }).rejects.toMatchObject({ kind: "canceled" });
  });
});

it("StreamChat refuses tools before anything is sent, and says what to do once it is retired", async () => {
  const tools = await read(open(await setUp("chat"), aTurn([user("hi")], { tools: [look] })));
  expect(tools.error).toMatchObject({ kind: "invalid-request", code: "tools_unsupported" });
  const retired = await read(open(await setUp("chat", {}), aTurn([user("hi")])));
  expect(retired.error).toMatchObject({ kind: "deprecated", hint: expect.stringContaining("Set driver to cursor") });
});

it("the unified one streams thinking and carries tools on the same stream", async () => {
  const driver = await setUp("unified");
  const prompt = '@sim think hm ;; call look {"a":1} ;; call look {"a":2} ;; say {{result.0}} {{result.1}} {{reused}}';
  const run = open(driver, aTurn([user(prompt)], { tools: [look] }));
  const { events } = await read(run);
  expect(events.map(({ type }) => type)).toEqual(["thinking", "thinking-done", "tool-call", "tool-call", "done"]);
  const calls = events.filter((event): event is TurnEvent & { type: "tool-call" } => event.type === "tool-call");
  run.submitResults(
    calls.map(({ id, args }) => ({
      role: "tool",
      callId: id,
      content: [{ type: "text", text: `r${args["a"]}` }],
      isError: false,
    })),
    [],
  );
  expect((await read(run)).text).toBe("r1 r2 stream");
});

it("a stream that ends right after its tool calls has called, and is gone on with from the transcript", async () => {
  const message = toBinary(
    StreamUnifiedChatResponseWithToolsSchema,
    create(StreamUnifiedChatResponseWithToolsSchema, {
      response: {
        case: "clientSideToolV2Call",
        value: { toolCallId: "c", name: "look", rawArgs: "{}", isLastMessage: true },
      },
    }),
  );
  const transport = madeUpTransport((_request, peer) => {
    setImmediate(() => {
      peer.head({ status: 200, headers: { "content-type": "application/connect+proto" } });
      peer.data(Buffer.concat([encodeFrame(message), encodeFrame(Buffer.from("{}"), FLAG_END)]));
      peer.end();
    });
    return undefined;
  });
  const driver = createLegacyDriver({
    origin: "http://127.0.0.1:9",
    transport,
    method: "unified",
    access: createFixedAccess(new Secret("tester")),
    models: {
      list: async () => [],
      find: () => Promise.reject(new Error("nobody asks")),
      prepare: async (turn) => ({ turn, maxMode: false, ignoresEffort: false }),
    },
  });
  let losses = 0;
  const run = driver.open(aTurn([user("hi")], { tools: [look] }), { requestId: "r", onLost: () => losses++ });
  const { events, error } = await read(run);
  expect(error).toBeUndefined();
  expect(events.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
  expect(losses).toBe(1);
  expect(run.submitResults([{ role: "tool", callId: "c", content: [], isError: false }], [])).toBe(false);
});
