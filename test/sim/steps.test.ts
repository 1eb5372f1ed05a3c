import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { ConversationStateStructureSchema } from "../../src/gen/agent/v1/conversation_pb.ts";
import { ShellStreamSchema } from "../../src/gen/agent/v1/exec_shell_pb.ts";
import { InteractionResponseSchema } from "../../src/gen/agent/v1/query_pb.ts";
import { ErrorDetails_Error } from "../../src/gen/aiserver/v1/error_pb.ts";
import { withMember } from "../../src/wire/agent/member.ts";
import type { Intercept } from "./support/backend-client.ts";
import { setUp, TRANSPORTS } from "./support/transports.ts";

describe.each(TRANSPORTS)("the steps of a script, over %s", (transport) => {
  it("say streams its text, split at spaces", async () => {
    const { client } = await setUp(transport);
    const { text, updates, error } = await client.say(String.raw`@sim say hello wide\nworld \\n`);
    expect(error).toBeUndefined();
    expect(text).toBe("hello wide\nworld \\n");
    expect(updates.filter((update) => update === "textDelta")).toHaveLength(3);
  });

  it("think streams thinking, then says that it is completed", async () => {
    const { client } = await setUp(transport);
    const { thinking, updates, text } = await client.say("@sim think let me see ;; say ok");
    expect(thinking).toBe("let me see");
    expect(text).toBe("ok");
    expect(updates.lastIndexOf("thinkingDelta")).toBeLessThan(updates.indexOf("thinkingCompleted"));
    expect(updates.indexOf("thinkingCompleted")).toBeLessThan(updates.indexOf("textDelta"));
  });

  it("call asks for a client tool by its tool name and goes on with the result", async () => {
    const seen: unknown[] = [];
    const look = (args: unknown) => {
      seen.push(args);
      return "nothing";
    };
    const { client } = await setUp(transport, { tools: { look } });
    const { text, updates, execs } = await client.say('@sim call look {"path":"/a","deep":2} ;; say got {{result}}');
    expect(text).toBe("got nothing");
    expect(seen).toEqual([{ path: "/a", deep: 2 }]);
    const [asked] = execs.filter((exec) => exec.message.case === "mcpArgs");
    expect(asked?.message.value).toMatchObject({ name: "gw-look", toolName: "look", providerIdentifier: "gw" });
    expect(updates).toEqual(expect.arrayContaining(["toolCallStarted", "partialToolCall", "toolRequestsListed"]));
    expect(updates.indexOf("toolCallCompleted")).toBeGreaterThan(updates.indexOf("partialToolCall"));
  });

  it("call streams the arguments as cumulative text", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "" } });
    const { messages } = await client.say('@sim call look {"path":"/somewhere"}');
    const partial = messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "partialToolCall"
        ? [message.value.message.value.argsTextDelta]
        : [],
    );
    expect(partial.at(-1)).toBe('{"path":"/somewhere"}');
    for (const part of partial) expect(partial.at(-1)?.startsWith(part)).toBe(true);
  });

  it("consecutive calls are one parallel batch, answered in any order", async () => {
    let inFlight = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const tool = async (name: string) => {
      most = Math.max(most, ++inFlight);
      if (most === 2) gate.resolve();
      await gate.promise;
      inFlight--;
      return name;
    };
    const { client } = await setUp(transport, { tools: { a: () => tool("A"), b: () => tool("B") } });
    const { text } = await client.say("@sim call a\n@sim call b\n@sim say {{result.0}} {{result.1}}");
    expect(text).toBe("A B");
    expect(most).toBe(2);
  });

  it("wait separates two batches", async () => {
    const order: string[] = [];
    const tool = (name: string) => () => {
      order.push(name);
      return name;
    };
    const { client } = await setUp(transport, { tools: { a: tool("a"), b: tool("b") } });
    const { messages } = await client.say("@sim call a ;; wait ;; call b ;; say done");
    const listed = messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "toolRequestsListed"
        ? [message.value.message.value.callCount]
        : [],
    );
    expect(listed).toEqual([1, 1]);
    expect(order).toEqual(["a", "b"]);
  });

  it("skips the call of a tool that was not offered, and traces it", async () => {
    const { client, trace } = await setUp(transport);
    const { text, execs } = await client.say("@sim call missing {} ;; say on we go");
    expect(text).toBe("on we go");
    expect(execs).toHaveLength(1);
    expect(trace.some(({ kind, message }) => kind === "skip" && String(message).includes("missing"))).toBe(true);
  });

  it("exec asks natively; a shell stream is read to its exit", async () => {
    const { client } = await setUp(transport);
    const intercept: Intercept = (message, send) => {
      if (message.case !== "execServerMessage" || message.value.message.case !== "shellStreamArgs") return false;
      const { id } = message.value;
      const events: (MessageInitShape<typeof ShellStreamSchema>["event"] & object)[] = [
        { case: "start", value: {} },
        { case: "stdout", value: { data: "one\n" } },
        { case: "stderr", value: { data: "two\n" } },
        { case: "exit", value: { code: 3, cwd: "/w" } },
      ];
      for (const event of events) {
        const value = create(ShellStreamSchema, { event });
        send({ case: "execClientMessage", value: { id, message: { case: "shellStream", value } } });
      }
      // Some clients repeat the outcome as a one-shot result: that is no second answer.
      send({ case: "execClientMessage", value: { id, message: { case: "shellResult", value: {} } } });
      send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } });
      return true;
    };
    const { text, error, execs } = await client.say('@sim exec shell_stream {"command":"ls -a /w"} ;; say {{result}}', {
      intercept,
    });
    expect(error).toBeUndefined();
    expect(text).toBe("one\ntwo\n[exit 3]");
    const [asked] = execs.flatMap(({ message }) => (message.case === "shellStreamArgs" ? [message.value] : []));
    expect(asked?.command).toBe("ls -a /w");
    expect(asked?.parsingResult?.executableCommands[0]).toMatchObject({ name: "ls", fullText: "ls -a /w" });
  });

  it("a native request with arguments of other types is refused, not a failure of the simulator's", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say('@sim exec shell {"command":{"toString":1}}');
    expect(error).toMatchObject({ kind: "invalid-request" });
  });

  it.each([
    [
      "read",
      '{"path":"/a"}',
      "readArgs",
      {
        case: "readResult",
        value: { result: { case: "success", value: { path: "/a", output: { case: "content", value: "text of a" } } } },
      },
      "text of a",
    ],
    [
      "write",
      '{"path":"/a","file_text":"x"}',
      "writeArgs",
      { case: "writeResult", value: { result: { case: "success", value: { path: "/a" } } } },
      "wrote /a",
    ],
    [
      "delete",
      '{"path":"/a"}',
      "deleteArgs",
      { case: "deleteResult", value: { result: { case: "fileNotFound", value: { path: "/a" } } } },
      "file not found: /a",
    ],
    [
      "ls",
      '{"path":"/w"}',
      "lsArgs",
      {
        case: "lsResult",
        value: {
          result: {
            case: "success",
            value: { directoryTreeRoot: { absPath: "/w", childrenFiles: [{ name: "a.ts" }] } },
          },
        },
      },
      "/w\n  a.ts",
    ],
    [
      "grep",
      '{"pattern":"x","path":"/w"}',
      "grepArgs",
      {
        case: "grepResult",
        value: {
          result: {
            case: "success",
            value: {
              workspaceResults: {
                "/w": {
                  result: {
                    case: "content",
                    value: { matches: [{ file: "a.ts", matches: [{ lineNumber: 3, content: "let x" }] }] },
                  },
                },
              },
            },
          },
        },
      },
      "a.ts:3:let x",
    ],
    [
      "fetch",
      '{"url":"http://x/"}',
      "fetchArgs",
      { case: "fetchResult", value: { result: { case: "error", value: { url: "http://x/", error: "no net" } } } },
      "error: no net",
    ],
    [
      "diagnostics",
      '{"path":"/a"}',
      "diagnosticsArgs",
      {
        case: "diagnosticsResult",
        value: {
          result: {
            case: "success",
            value: { path: "/a", diagnostics: [{ message: "oh", range: { start: { line: 2 } } }] },
          },
        },
      },
      "/a:2: oh",
    ],
    [
      "shell",
      '{"command":"false"}',
      "shellArgs",
      { case: "shellResult", value: { result: { case: "rejected", value: { reason: "not today" } } } },
      "rejected: not today",
    ],
  ] as const)(
    "exec %s asks with its arguments and reads its typed result",
    async (kind, args, member, result, text) => {
      const { client } = await setUp(transport);
      const answer = await client.say(`@sim exec ${kind} ${args} ;; say {{result}}`, {
        intercept: (message, send) => {
          if (message.case !== "execServerMessage" || message.value.message.case !== member) return false;
          send({ case: "execClientMessage", value: { id: message.value.id, message: result as never } });
          return true;
        },
      });
      expect(answer.error).toBeUndefined();
      expect(answer.text).toBe(text);
      expect(answer.execs.at(-1)?.message.value).toMatchObject({ toolCallId: expect.stringMatching(/^call_/) });
    },
  );

  it("exec #N asks for a member that no schema knows; a throw answers it", async () => {
    const { client } = await setUp(transport);
    const { text, error } = await client.say("@sim exec #99 ;; say {{result}}", {
      intercept: (message, send) => {
        if (message.case !== "execServerMessage" || message.value.message.case !== undefined) return false;
        expect(message.value.$unknown?.[0]?.no).toBe(99);
        const { id } = message.value;
        send({
          case: "execClientControlMessage",
          value: { message: { case: "throw", value: { id, error: "unknown" } } },
        });
        send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } });
        return true;
      },
    });
    expect(error).toBeUndefined();
    expect(text).toBe("unknown");
  });

  it("ask waits for the answer to a query", async () => {
    const { client } = await setUp(transport);
    const query = '{"web_search_request_query":{"args":{"searchTerm":"cats"}}}';
    const { text, messages } = await client.say(`@sim ask ${query} ;; say {{result}}`);
    expect(text).toBe("approved");
    const asked = messages.find(({ message }) => message.case === "interactionQuery")?.message;
    expect(asked?.value).toMatchObject({ query: { value: { args: { searchTerm: "cats" } } } });
  });

  it("ask #N asks for an unknown query, answered in the common reject shape", async () => {
    const { client } = await setUp(transport);
    const { text, error } = await client.say("@sim ask #77 ;; say fine", {
      intercept: (message, send) => {
        if (message.case !== "interactionQuery") return false;
        expect(message.value.$unknown?.[0]?.no).toBe(77);
        const response = withMember(InteractionResponseSchema, 77);
        response.id = message.value.id;
        send({ case: "interactionResponse", value: create(InteractionResponseSchema, response) });
        return true;
      },
    });
    expect(error).toBeUndefined();
    expect(text).toBe("fine");
  });

  it("tokens streams numbered tokens, one delta each", async () => {
    const { client } = await setUp(transport);
    const { text, updates } = await client.say("@sim tokens 500 0");
    expect(text.split(" ")).toEqual(Array.from({ length: 500 }, (_, n) => `t${n}`));
    expect(updates.filter((update) => update === "textDelta")).toHaveLength(500);
  });

  it("tokens are as far apart as asked", async () => {
    const { client } = await setUp(transport);
    const start = performance.now();
    const { text } = await client.say("@sim tokens 5 10");
    expect(text).toBe("t0 t1 t2 t3 t4");
    expect(performance.now() - start).toBeGreaterThanOrEqual(49);
  });

  it("silent sends only heartbeats", async () => {
    const { client } = await setUp(transport, {}, { heartbeatMs: 20 });
    const { updates, text } = await client.say("@sim silent 150 ;; say back");
    expect(text).toBe("back");
    expect(updates.filter((update) => update === "heartbeat").length).toBeGreaterThanOrEqual(3);
  });

  it("usage sets the figures of turn_ended", async () => {
    const { client } = await setUp(transport);
    const { usage } = await client.say("@sim usage 1200 34 56 ;; say hi");
    expect(usage).toMatchObject({ inputTokens: 1200n, outputTokens: 34n, cacheReadTokens: 56n });
  });

  it("counts tokens while streaming, and reports usage by default", async () => {
    const { client } = await setUp(transport);
    for (const tokens of [0, 1, 15, 16, 17, 33, 40]) {
      const { messages, usage } = await client.say(`@sim tokens ${tokens} 0`);
      const told = messages.flatMap(({ message }) =>
        message.case === "interactionUpdate" && message.value.message.case === "tokenDelta"
          ? [message.value.message.value.tokens]
          : [],
      );
      expect(told.reduce((sum, n) => sum + n, 0)).toBe(tokens);
      expect(told).toHaveLength(Math.ceil(tokens / 16));
      expect(usage?.outputTokens).toBe(BigInt(tokens));
      expect(usage?.inputTokens).toBeGreaterThan(0n);
    }
  });

  it("fail ends the stream with a Connect error and its typed details", async () => {
    const { client } = await setUp(transport);
    const prompt =
      '@sim say partly ;; fail resource_exhausted ERROR_RATE_LIMITED title="Slow down" retryable=true retry=7 too fast';
    const { error, end, text } = await client.say(prompt);
    expect(text).toBe("partly");
    expect(error).toMatchObject({ kind: "rate-limited", retryable: true, retryAfterMs: 7000 });
    expect(error?.message).toContain("too fast");
    expect(end?.metadata["retry-after"]).toEqual(["7"]);
    expect(ErrorDetails_Error.RATE_LIMITED).toBe(50);
  });

  it("the trace shows the error of an end, and none where all went well", async () => {
    const { client, trace } = await setUp(transport);
    const endOf = async (prompt: string) => {
      trace.length = 0;
      await client.say(prompt);
      await vi.waitFor(() => expect(trace.map(({ kind }) => kind)).toContain("end"));
      return trace.find(({ kind }) => kind === "end")?.message;
    };
    expect(await endOf("@sim say partly ;; fail resource_exhausted ERROR_RATE_LIMITED too fast")).toEqual({
      error: expect.objectContaining({ code: "resource_exhausted", details: expect.any(Array) }),
    });
    expect(await endOf("@sim say all")).toEqual({});
  });

  it("fail without details carries its text", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say("@sim fail permission_denied not for you");
    expect(error).toMatchObject({ kind: "forbidden" });
    expect(error?.message).toContain("not for you");
  });

  it("fail http=503 fails before the stream", async () => {
    const { client } = await setUp(transport);
    const { error, messages } = await client.say("@sim fail http=503 down for a while");
    expect(error).toMatchObject({ kind: "upstream-unavailable" });
    expect(error?.code).not.toBe("stream_truncated");
    expect(messages).toHaveLength(0);
  });

  it("fail happens always, or as often as times=N says", async () => {
    const { client } = await setUp(transport);
    for (let n = 0; n < 3; n++) expect((await client.say("@sim fail unavailable")).error).toBeDefined();
    const prompt = "@sim fail unavailable times=2 ;; say at last";
    expect((await client.say(prompt)).error).toBeDefined();
    expect((await client.say(prompt)).error).toBeDefined();
    expect((await client.say(prompt)).text).toBe("at last");
    // The script has completed, so it begins anew.
    expect((await client.say(prompt)).error).toBeDefined();
  });

  it("need does the script only if one of its tools is offered", async () => {
    const { client, connect } = await setUp(transport, { tools: { bash: () => "" } });
    const prompt = "@sim need shell,bash ;; say with tools";
    expect((await client.say(prompt)).text).toBe("with tools");
    expect((await connect({ tools: {} }).say(prompt)).text).toContain("You said");
  });

  it.each(["fail http=503", "fault refused", "fail unavailable"])("need holds back %s as well", async (step) => {
    const { client, connect } = await setUp(transport, { tools: { bash: () => "" } });
    const prompt = `@sim need shell,bash ;; ${step} times=9`;
    expect((await client.say(prompt)).error).toBeDefined();
    expect(await connect({ tools: {} }).say(prompt)).toMatchObject({
      error: undefined,
      text: expect.stringContaining("You said"),
    });
  });

  it("a need that only the client's context fulfils is known on the stream, not before it", async () => {
    const { client } = await setUp(transport, { context: { tools: [{ name: "gw-late", toolName: "late" }] } });
    const { error, execs } = await client.say("@sim need late ;; fail http=503 down");
    expect(error).toMatchObject({ kind: "upstream-unavailable", message: "down" });
    expect(execs).toHaveLength(1);
  });

  it("a replayed turn whose need is not fulfilled gets the echo, however far it had come", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "" } });
    const call = { type: "tool-call", toolCallId: "1", toolName: "look", args: {} };
    const result = { type: "tool-result", toolCallId: "1", toolName: "look", result: "seen" };
    client.state = create(ConversationStateStructureSchema, {
      rootPromptMessagesJson: client.storeRoots([
        { role: "user", content: [{ type: "text", text: "@sim need other ;; call look {} ;; say {{result}}" }] },
        { role: "assistant", content: [call] },
        { role: "tool", id: "1", content: [result] },
      ]),
    });
    expect((await client.resume()).text).toContain("You said");
  });

  it("what is out of range is skipped, and named where nothing else is done", async () => {
    const { client } = await setUp(transport);
    for (const step of ["fail http=100", "silent 99999999999", "usage 1.5 2", "exec #0", 'ask {"bad":1}', "toString"]) {
      const { text, error } = await client.say(`@sim ${step}`);
      expect([error, text]).toEqual([undefined, expect.stringContaining(`I did not understand "${step}"`)]);
      expect((await client.say(`@sim ${step} ;; say on`)).text).toBe("on");
    }
  });

  it("exec with arguments that do not fit is the script's fault, told as such", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say('@sim exec read {"path":5}');
    expect(error).toMatchObject({ kind: "invalid-request", message: expect.stringContaining("exec read") });
  });

  it("next leaves the steps after it to the following turn, unless that has its own", async () => {
    const { client } = await setUp(transport);
    const prompt = "@sim say one ;; next ;; say two ;; next ;; say three";
    expect((await client.say(prompt)).text).toBe("one");
    expect((await client.say("go on")).text).toBe("two");
    expect((await client.say("go on")).text).toBe("three");
    expect((await client.say("go on")).text).toContain("You said");
    expect((await client.say(prompt)).text).toBe("one");
    expect((await client.say("@sim say mine")).text).toBe("mine");
    expect((await client.say("go on")).text).toContain("You said");
  });

  it("echoes a turn without a script, and names what it did not understand", async () => {
    const { client } = await setUp(transport);
    expect((await client.say("hello there")).text).toContain("hello there");
    expect((await client.say("@sim dance wildly")).text).toContain('"dance wildly": unknown step');
  });

  it("uses the script of the settings for turns without one", async () => {
    const { client } = await setUp(transport, {}, { script: "@sim say by default" });
    expect((await client.say("anything")).text).toBe("by default");
    expect((await client.say("@sim say mine")).text).toBe("mine");
  });

  it("fails before the stream also where the settings say so", async () => {
    const { client } = await setUp(transport, {}, { script: "@sim fail http=429" });
    const { error, messages } = await client.say("anything");
    expect([error?.kind, messages.length]).toEqual(["rate-limited", 0]);
  });
});
