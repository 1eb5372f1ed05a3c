import { describe, expect, it, vi } from "vitest";
import type { AccessTokens } from "../../../src/core/access/access.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { JsonObject, Message, ToolDefinition } from "../../../src/core/turn.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { issueTokens } from "../../../src/sim/accounts.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import { assistant, aTurn, open, read, setUpDriver, user } from "./support/driver-stage.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const look = { name: "look", description: "looks", schema: { type: "object", properties: {} } };

/** A tool whose schema has so many levels, or three times as many with choices. */
function deepTool(levels: number, choice?: "anyOf"): ToolDefinition {
  let schema: JsonObject = { type: "string" };
  for (let level = 1; level < levels; level++) schema = choice ? { items: { [choice]: [schema] } } : { items: schema };
  return { name: "deep", description: "", schema: { ...schema, type: "object" } };
}

describe.each(["h2", "h1"] as const)("a run of the agent protocol over %s", (transport) => {
  it("streams thinking and text, then usage, then done", async () => {
    const { driver } = await setUpDriver(transport);
    const { events, error } = await read(
      open(driver, aTurn([user("@sim usage 100 20 5 ;; think hm ;; say hello world")])),
    );
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["thinking", "thinking-done", "text", "text", "usage", "done"]);
    expect(events.at(-2)).toMatchObject({
      usage: { inputTokens: 100, outputTokens: 20, cachedTokens: 5, isEstimate: false },
    });
    expect(events.at(-1)).toEqual({ type: "done", reason: "stop" });
  });

  it("brings system prompt, history, images, files, tools and model to the backend", async () => {
    const { driver } = await setUpDriver(transport);
    const messages = [
      user("first"),
      assistant("answer"),
      { role: "assistant" as const, content: [{ type: "tool-call" as const, id: "c1", name: "look", args: { a: 1 } }] },
      { role: "tool" as const, callId: "c1", content: [{ type: "text" as const, text: "seen" }], isError: false },
      assistant("so"),
      {
        role: "user" as const,
        content: [
          { type: "text" as const, text: "@sim say {{system}}|{{history}}|{{images}}|{{tools}}|{{model}}" },
          { type: "image" as const, mediaType: "image/png", data: PNG },
        ],
      },
    ];
    const { text, error } = await read(open(driver, aTurn(messages, { system: "Be brief.", tools: [look] })));
    expect(error).toBeUndefined();
    expect(text.split("|")).toEqual([
      "Be brief.",
      'user: first\nassistant: answer\nassistant: [look {"a":1}]\ntool: seen\nassistant: so',
      "1 image/png:11",
      "look",
      "gpt-5.5 effort=high",
    ]);
  });

  it("a tool of the client's that is nested too deep is refused by its field, and nothing is sent", async () => {
    const { driver, trace } = await setUpDriver(transport);
    const tools = [look, { ...deepTool(31), field: "tools[1].schema" }];
    const { error } = await read(open(driver, aTurn([user("@sim say {{tools}}")], { tools })));
    expect(error).toMatchObject({
      kind: "invalid-request",
      code: "schema_too_deep",
      field: "tools[1].schema",
      message: expect.stringContaining('"deep"'),
    });
    expect(trace.some(({ kind }) => kind === "run_request")).toBe(false);
  });

  it("another tool that is nested too deep is left out and named; the others are offered", async () => {
    const leftOut: string[] = [];
    const { driver } = await setUpDriver(transport, { onToolLeftOut: (name) => leftOut.push(name) });
    const ask = (...tools: ToolDefinition[]) => read(open(driver, aTurn([user("@sim say {{tools}}")], { tools })));
    expect((await ask(look, deepTool(31))).text).toBe("look");
    expect(leftOut).toEqual(["deep"]);
    expect((await ask(look, deepTool(30))).text).toBe("look,deep");
    // Choices are merged on the way, with their levels.
    expect((await ask(look, deepTool(10, "anyOf"))).text).toBe("look,deep");
    expect(leftOut).toEqual(["deep"]);
  });

  it("continues the conversation from the backend's checkpoint, also with another model", async () => {
    const { driver, checkpoints } = await setUpDriver(transport);
    const first = await read(open(driver, aTurn([user("@sim say hello")])));
    expect(first.text).toBe("hello");
    await expect.poll(() => checkpoints.size).toBe(1);
    const history = [user("@sim say hello"), assistant("hello")];
    expect((await read(open(driver, aTurn([...history, user("@sim say {{reused}}")])))).text).toBe("checkpoint");
    const other = aTurn([...history, user("@sim say {{reused}}")], { model: { id: "other", effort: undefined } });
    expect((await read(open(driver, other))).text).toBe("checkpoint");
  });

  it("an edited history, another principal or another account never meets that checkpoint", async () => {
    const { driver, checkpoints } = await setUpDriver(transport);
    await read(open(driver, aTurn([user("@sim say hello")])));
    await expect.poll(() => checkpoints.size).toBe(1);
    const edited = [user("@sim say hello"), assistant("hello there"), user("@sim say {{reused}} {{history}}")];
    expect((await read(open(driver, aTurn(edited)))).text).toBe("fresh user: @sim say hello\nassistant: hello there");
    const same = [user("@sim say hello"), assistant("hello"), user("@sim say {{reused}}")];
    const stranger = { principal: { id: "p2", token: undefined } };
    expect((await read(open(driver, aTurn(same, stranger)))).text).toBe("fresh");
    const otherAccount = { principal: { id: "p1", token: new Secret("somebody-else") } };
    expect((await read(open(driver, aTurn(same, otherAccount)))).text).toBe("fresh");
  });

  it("resumes a dropped stream from the checkpoint, and repeats nothing", async () => {
    const { driver } = await setUpDriver(transport);
    for (const fault of ["rst", "tcp-reset", "truncate", "end-without-turn-ended"]) {
      const { text, error, events } = await read(
        open(driver, aTurn([user(`@sim say one ;; fault ${fault} ;; say two`)])),
      );
      expect([fault, error, text]).toEqual([fault, undefined, "onetwo"]);
      expect(events.filter(({ type }) => type === "done")).toHaveLength(1);
    }
  });

  it("does not run again what the backend has begun, without a checkpoint", async () => {
    const { driver, trace } = await setUpDriver(transport);
    const { error } = await read(open(driver, aTurn([user("@sim fault rst")])));
    expect(error).toMatchObject({ name: "ExcursorError" });
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });

  it("does not run again what the backend itself gave up, and tells clients not to (REL-25)", async () => {
    const { driver, trace } = await setUpDriver(transport);
    for (const prompt of ["@sim say hi ;; fail unavailable boom", "@sim silent 5 ;; fail internal boom"]) {
      const { error } = await read(open(driver, aTurn([user(prompt)])));
      expect(error).toMatchObject({ retryable: false });
    }
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  it("asks again where to go, if nobody told it the last time", async () => {
    const { driver, trace } = await setUpDriver(transport, {
      access: createFixedAccess(new Secret("invalid-at-first")),
    });
    const asked = () => trace.filter(({ message }) => JSON.stringify(message).includes("GetServerConfig")).length;
    await read(open(driver, aTurn([user("hi")])));
    await read(open(driver, aTurn([user("hi")])));
    expect(asked()).toBe(2);
  });

  it("renews a token that is refused, once, while nothing was shown (REL-22)", async () => {
    const renewals: string[] = [];
    const accessWith = (renewed: string | undefined): AccessTokens => ({
      get: async () => ({ account: "a", token: new Secret("invalid-first") }),
      renew: async (_, refused) => {
        renewals.push(refused.reveal());
        return renewed === undefined ? undefined : { account: "a", token: new Secret(renewed) };
      },
    });
    const outcomes = [];
    for (const renewed of ["tester", "invalid-second", undefined]) {
      const { driver } = await setUpDriver(transport, { access: accessWith(renewed) });
      const { text, error } = await read(open(driver, aTurn([user("@sim say hello")])));
      outcomes.push([text, error && ExcursorError.from(error).kind]);
    }
    const refused = ["", "unauthenticated"];
    expect(outcomes).toEqual([["hello", undefined], refused, refused]);
    expect(renewals).toEqual(["invalid-first", "invalid-first", "invalid-first"]);
  });

  it("outlives its token: what is sent after it has expired goes with a new one (REL-22)", async () => {
    const renewals: string[] = [];
    const [first, second] = [3600, 36_000].map((ttlS) => issueTokens("auth0|user_x", ttlS).accessToken);
    const access: AccessTokens = {
      get: async () => ({ account: "a", token: new Secret(first ?? "") }),
      renew: async (_, refused) => {
        renewals.push(refused.reveal());
        return { account: "a", token: new Secret(second ?? "") };
      },
    };
    const { driver } = await setUpDriver(transport, { access });
    const run = open(driver, aTurn([user("@sim call look {} ;; say {{result}} {{reused}}")], { tools: [look] }));
    const { events } = await read(run);
    const [call] = events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(now + 2 * 3_600_000);
    run.submitResults(
      [{ role: "tool", callId: call?.id ?? "", content: [{ type: "text", text: "seen" }], isError: false }],
      [],
    );
    const { text, error } = await read(run);
    clock.mockRestore();
    expect([text, error]).toEqual(["seen stream", undefined]);
    expect(new Set(renewals)).toEqual(new Set(transport === "h1" ? [first] : []));
  });

  it("tries the other encoding of the model once, at zero tokens, and remembers it", async () => {
    const { driver, remembered } = await setUpDriver(transport);
    const prompt = "@sim fail not_found ERROR_BAD_MODEL_NAME times=1 ;; say {{model}}";
    expect((await read(open(driver, aTurn([user(prompt)])))).text).toBe("gpt-5.5-high");
    expect(remembered).toEqual(["gpt-5.5 variant"]);
  });

  it("switches max mode on once where it is required", async () => {
    const { driver } = await setUpDriver(transport);
    const prompt = "@sim fail failed_precondition ERROR_MAX_MODE_REQUIRED times=1 ;; say {{model}}";
    expect((await read(open(driver, aTurn([user(prompt)])))).text).toBe("gpt-5.5 effort=high max_mode=true");
  });

  it("tells a backend that has lost the conversation its history anew", async () => {
    const { driver, checkpoints } = await setUpDriver(transport);
    await read(open(driver, aTurn([user("@sim say hello")])));
    await expect.poll(() => checkpoints.size).toBe(1);
    for (const [key, checkpoint] of checkpoints) checkpoints.set(key, { ...checkpoint, blobs: new Map() });
    const turn = aTurn([user("@sim say hello"), assistant("hello"), user("@sim say {{reused}} {{history}}")]);
    expect((await read(open(driver, turn))).text).toBe("fresh user: @sim say hello\nassistant: hello");
  });

  it("answers every request it does not serve, known or not, with a typed rejection (SEC-28)", async () => {
    const { driver, unknown, trace } = await setUpDriver(transport);
    const kinds = [
      "shell",
      "shell_stream",
      "read",
      "write",
      "delete",
      "ls",
      "grep",
      "fetch",
      "diagnostics",
      "#99",
      "#36",
      "#45",
    ];
    const steps = kinds.map(
      (kind) => `exec ${kind} {"path":"/etc/passwd","command":"id","pattern":"x","url":"http://x"}`,
    );
    const prompt = `@sim ${steps.join(" ;; ")} ;; say {{result.0}}|{{result.2}}|{{result.6}} ;; ask #77 ;; ask {"webSearchRequestQuery":{}} ;; say |{{result}}`;
    const { text, error } = await read(open(driver, aTurn([user(prompt)])));
    expect(error).toBeUndefined();
    expect(
      text
        .split("|")
        .slice(0, 3)
        .every((part) => part.includes("not available here")),
    ).toBe(true);
    expect(text.endsWith("|approved")).toBe(true);
    expect(unknown).toEqual(["exec request #99", "interaction query #77"]);
    expect(trace.some(({ kind }) => kind === "violation")).toBe(false);
  });

  it("hands a batch of tool calls to the client and goes on with the results on the same stream", async () => {
    const { driver } = await setUpDriver(transport);
    const run = open(
      driver,
      aTurn(
        [user('@sim say first ;; call look {"a":1} ;; call look {"a":2} ;; say {{result.0}} {{result.1}} {{reused}}')],
        { tools: [look] },
      ),
    );
    const first = await read(run);
    const calls = first.events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
    for (const { id, args } of calls) {
      const streamed = first.events.map((event) =>
        event.type === "tool-call-delta" && event.id === id ? event.json : "",
      );
      expect(JSON.parse(streamed.join(""))).toEqual(args);
    }
    expect(calls.map(({ name, args }) => [name, args])).toEqual([
      ["look", { a: 1 }],
      ["look", { a: 2 }],
    ]);
    expect(first.events.at(-1)).toEqual({ type: "done", reason: "tool-calls" });
    run.submitResults(
      [...calls].reverse().map(({ id, args }) => ({
        role: "tool",
        callId: id,
        content: [{ type: "text", text: `r${args["a"]}` }],
        isError: false,
      })),
      [],
    );
    expect((await read(run)).text).toBe("r1 r2 stream");
  });

  it("says a typed error for each failure of the backend, at once", async () => {
    const { driver } = await setUpDriver(transport);
    const failed = async (step: string) => (await read(open(driver, aTurn([user(`@sim ${step}`)])))).error;
    expect(await failed("fail unauthenticated ERROR_NOT_LOGGED_IN")).toMatchObject({ kind: "unauthenticated" });
    expect(await failed("fail resource_exhausted ERROR_RATE_LIMITED retry=9 slow")).toMatchObject({
      kind: "rate-limited",
      retryAfterMs: 9000,
    });
    expect(await failed("fail invalid_argument ERROR_CONVERSATION_TOO_LONG")).toMatchObject({
      kind: "context-overflow",
    });
    expect(await failed("fail http=503")).toMatchObject({ kind: "upstream-unavailable" });
    expect(await failed("say shown ;; fail internal oops")).toMatchObject({ kind: "upstream-failed" });
  });

  it("refuses, before anything is sent, images the model cannot see and a conversation it cannot read", async () => {
    const { driver, trace } = await setUpDriver(transport, {}, {}, { supportsImages: false, contextTokens: 50 });
    const image = { role: "user" as const, content: [{ type: "image" as const, mediaType: "image/png", data: PNG }] };
    expect((await read(open(driver, aTurn([image])))).error).toMatchObject({ code: "images_unsupported" });
    expect((await read(open(driver, aTurn([user("x".repeat(1000))])))).error).toMatchObject({
      kind: "context-overflow",
    });
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(0);
  });

  it("trims the oldest turns where it may", async () => {
    const { driver } = await setUpDriver(transport, { context: "trim" }, {}, { contextTokens: 60 });
    const turn = aTurn([
      user("a".repeat(400)),
      assistant("b"),
      user("short"),
      assistant("c"),
      user("@sim say {{history}}"),
    ]);
    expect((await read(open(driver, turn))).text).toBe("user: short\nassistant: c");
    const tooLong = await read(open(driver, aTurn([user("short"), assistant("c"), user("x".repeat(1000))])));
    expect(tooLong.error).toMatchObject({ kind: "context-overflow", hint: expect.not.stringContaining("trim") });
  });

  it("never parts a tool call from its result, not even where a word stands between them", async () => {
    const { driver } = await setUpDriver(transport, { context: "trim" }, {}, { contextTokens: 120 });
    const call: Message = { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "look", args: {} }] };
    const result: Message = { role: "tool", callId: "c1", content: [{ type: "text", text: "seen" }], isError: false };
    const ask = user("@sim say {{history}}");
    const turn = (first: Message) => aTurn([first, call, user("hurry"), result, assistant("done"), ask]);
    expect((await read(open(driver, turn(user("short"))))).text).toContain("seen");
    const { text } = await read(open(driver, turn(user("a".repeat(800)))));
    expect(text).toBe("");
  });

  it("what was trimmed for one model is not lost to another", async () => {
    const { driver, checkpoints } = await setUpDriver(transport, { context: "trim" }, {}, { contextTokens: 60 });
    const asked = [user("a".repeat(400)), assistant("b"), user("@sim say short")];
    expect((await read(open(driver, aTurn(asked)))).text).toBe("short");
    await expect.poll(() => checkpoints.size).toBe(1);
    const more = [...asked, assistant("short"), user("@sim say {{history}}")];
    const { text } = await read(open(driver, aTurn(more, { model: { id: "big", effort: undefined } })));
    expect(text).toContain("a".repeat(400));
  });

  it("brings attached files as selected context", async () => {
    const { driver, trace } = await setUpDriver(transport);
    const file = { type: "file" as const, name: "notes.md", text: "remember" };
    await read(open(driver, aTurn([{ role: "user", content: [{ type: "text", text: "@sim say ok" }, file] }])));
    const request = JSON.stringify(trace.find(({ kind }) => kind === "run_request")?.message);
    expect(request).toContain('"files":[{"content":"remember","path":"notes.md"');
  });

  it("cancels the upstream when the client is gone, or leaves (REL-05, REL-06)", async () => {
    const { driver, trace } = await setUpDriver(transport);
    const run = open(driver, aTurn([user("@sim say a ;; silent 60000")]));
    await expect(async () => {
      for await (const _ of run) run.cancel();
    }).rejects.toMatchObject({ kind: "canceled" });
    await expect.poll(() => trace.filter(isGivenUp).length).toBe(1);
    for await (const _ of open(driver, aTurn([user("@sim say a ;; silent 60000")]))) break;
    await expect.poll(() => trace.filter(isGivenUp).length).toBe(2);
  });

  it("a finished turn is finished, whatever the transport does next (REL-14)", async () => {
    const { driver } = await setUpDriver(transport);
    for (const fault of ["keep-open", "late-checkpoint"]) {
      const { text, error } = await read(open(driver, aTurn([user(`@sim fault ${fault} ;; say done`)])));
      expect([text, error]).toEqual(["done", undefined]);
    }
  });
});
