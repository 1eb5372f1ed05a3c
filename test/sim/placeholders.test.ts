import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it, vi } from "vitest";
import { InjectContextActionSchema } from "../../src/gen/agent/v1/action_pb.ts";
import { ConversationHistorySchema } from "../../src/gen/agent/v1/conversation_history_pb.ts";
import { AgentClientMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { UserMessageSchema } from "../../src/gen/agent/v1/user_message_pb.ts";
import type { ClientMessage } from "./support/backend-client.ts";
import { setUp, TRANSPORTS } from "./support/transports.ts";

const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(60)]);

describe.each(TRANSPORTS)("what a script can quote of what was received, over %s", (transport) => {
  it("{{result}} and {{result.N}}: the last tool result, and the N-th of the turn", async () => {
    const { client } = await setUp(transport, { tools: { a: () => "one", b: () => "two" } });
    const { text } = await client.say(
      "@sim call a ;; call b ;; wait ;; call a ;; say {{result}} {{result.0}} {{result.1}} {{result.9}}.",
    );
    expect(text).toBe("one one two .");
  });

  it("{{system}}: cloud rule, global rules, custom system prompt, and no other channel", async () => {
    const { client } = await setUp(transport, {
      context: {
        cloudRule: "Be brief.",
        rules: [
          { fullPath: "/r", content: "Always.", type: { type: { case: "global", value: {} } } },
          { fullPath: "/s", content: "Never.", type: { type: { case: "manuallyAttached", value: {} } } },
        ],
      },
    });
    const roots = client.storeRoots([{ role: "system", content: "ignored" }]);
    const { text } = await client.say("@sim say {{system}} | {{history}}", {
      request: { customSystemPrompt: "Custom.", conversationState: { rootPromptMessagesJson: roots } },
    });
    expect(text).toBe("Be brief.\nAlways.\nCustom. | system: ignored");
  });

  it("{{history}}: a line for each message before the active one, read out of the blobs", async () => {
    const { client } = await setUp(transport);
    const roots = client.storeRoots([
      { role: "user", content: [{ type: "text", text: "<user_query>\nfirst\nline\n</user_query>" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "let me look" },
          { type: "tool-call", toolCallId: "c1", toolName: "read", args: { path: "/a" } },
        ],
      },
      {
        role: "tool",
        id: "c1",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "read", result: "text of a" }],
      },
      { role: "assistant", content: "plain string" },
    ]);
    const { text } = await client.say("@sim say {{history}}", {
      request: { conversationState: { rootPromptMessagesJson: roots } },
    });
    expect(text.split("\n")).toEqual([
      String.raw`user: first\nline`,
      "assistant: let me look",
      'assistant: [read {"path":"/a"}]',
      "tool: text of a",
      "assistant: plain string",
    ]);
  });

  it("{{history}} is read from turns where a client has put it only there", async () => {
    const { client, connect } = await setUp(transport, { tools: { look: () => "seen" } });
    await client.say('@sim say hello ;; call look {"a":1} ;; say bye');
    const other = connect();
    for (const [id, bytes] of client.blobs) other.blobs.set(id, bytes);
    const { text } = await other.say("@sim say {{history}}", {
      request: { conversationState: { turns: client.state?.turns ?? [] } },
    });
    expect(text.split("\n").slice(1)).toEqual([
      "assistant: hello",
      'assistant: [look {"a":1}]',
      "tool: seen",
      "assistant: bye",
    ]);
    expect((await other.say("@sim say {{history}}")).text).toContain("assistant: bye");
  });

  it("{{images}}: count, types and sizes of the active turn, inline or as blobs", async () => {
    const { client } = await setUp(transport);
    const blobId = client.storeBlob(PNG);
    const userMessage = create(UserMessageSchema, {
      text: "@sim say {{images}}",
      selectedContext: {
        selectedImages: [
          { uuid: "1", mimeType: "image/jpeg", dataOrBlobId: { case: "data", value: new Uint8Array(10) } },
          { uuid: "2", dataOrBlobId: { case: "blobId", value: blobId } },
        ],
      },
    });
    const { text } = await client.run({ action: { case: "userMessageAction", value: { userMessage } } });
    expect(text).toBe("2 image/jpeg:10,image/png:68");
    expect((await client.say("@sim say {{images}}")).text).toBe("0");
  });

  it("{{tools}}: the union of all places where tools are offered", async () => {
    const { client } = await setUp(transport, {
      tools: { a: () => "" },
      context: {
        tools: [
          { name: "gw-a", toolName: "a" },
          { name: "bare", inputSchema: fromJson(ValueSchema, {}) },
        ],
      },
    });
    expect((await client.say("@sim say {{tools}}")).text).toBe("a,bare");
  });

  it("{{model}}: the id with its parameters; model_details alone will do", async () => {
    const { client } = await setUp(transport);
    const requestedModel = { modelId: "gpt-5.5", parameters: [{ id: "effort", value: "high" }], maxMode: true };
    expect((await client.say("@sim say {{model}}", { request: { requestedModel } })).text).toBe(
      "gpt-5.5 effort=high max_mode=true",
    );
    expect(
      (await client.say("@sim say {{model}}", { request: { modelDetails: { modelId: "composer-1" } } })).text,
    ).toBe("composer-1");
  });

  it("{{user}}: the account, a JWT's subject or the token itself", async () => {
    const { client, connect } = await setUp(transport);
    expect((await client.say("@sim say {{user}}")).text).toBe("tester");
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = `${part({ alg: "none" })}.${part({ sub: "auth0|user_7", exp: Date.now() })}.x`;
    expect((await connect({ token }).say("@sim say {{user}}")).text).toBe("auth0|user_7");
  });

  it("leaves what is no placeholder as it is", async () => {
    const { client } = await setUp(transport);
    expect((await client.say("@sim say {{nothing}} {{ result }} {result}")).text).toBe(
      "{{nothing}} {{ result }} {result}",
    );
  });
});

describe.each(TRANSPORTS)("{{reused}}, checkpoints and resuming, over %s", (transport) => {
  it("says stream after a parked call, checkpoint from our own checkpoint, fresh otherwise", async () => {
    const { client, sim } = await setUp(transport, { tools: { look: () => "" } });
    expect((await client.say("@sim say {{reused}} ;; call look {} ;; say ,{{reused}}")).text).toBe("fresh,stream");
    expect((await client.say("@sim say {{reused}}")).text).toBe("checkpoint");
    expect(sim.port).toBeGreaterThan(0);
  });

  it("knows its checkpoint by a digest, not by memory: another process knows it, a rewritten one is foreign", async () => {
    const { client } = await setUp(transport);
    await client.say("@sim say hello");
    const { connect } = await setUp(transport);
    const restarted = connect();
    for (const [id, bytes] of client.blobs) restarted.blobs.set(id, bytes);
    restarted.state = client.state;
    expect((await restarted.say("@sim say {{reused}}")).text).toBe("checkpoint");
    const edited = connect();
    for (const [id, bytes] of client.blobs) edited.blobs.set(id, bytes);
    const other = edited.storeRoots([{ role: "user", content: "sneaked in" }]);
    const roots = [...other, ...(client.state?.rootPromptMessagesJson.slice(1) ?? [])];
    if (client.state) edited.state = { ...client.state, rootPromptMessagesJson: roots };
    expect((await edited.say("@sim say {{reused}}")).text).toBe("fresh");
  });

  it("carries the step index: a resumed turn goes on after the last step that was checkpointed", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "seen" } });
    const prompt = "@sim say one ;; call look {} ;; fault rst ;; say two {{result}}";
    const first = await client.say(prompt);
    expect([first.text, first.error !== undefined]).toEqual(["one", true]);
    expect((await client.resume()).text).toBe("two seen");
    expect((await client.say("@sim say {{history}}")).text).toContain("assistant: two seen");
  });

  it("a replayed conversation goes on where the parked run stopped", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "seen", other: () => "x" } });
    const script =
      '@sim say one ;; call look {"a":1} ;; exec shell {"command":"ls"} ;; say done {{result.0}} {{result}}';
    const call = (id: string, toolName: string, args: object) => ({
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: id, toolName, args: args as never }],
    });
    const result = (id: string, text: string) => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: id, toolName: "", result: text }],
    });
    const roots = client.storeRoots([
      { role: "user", content: script },
      call("1", "look", { a: 1 }),
      result("1", "cold"),
      // A gateway maps the native request to a tool of its client: some other name, other arguments.
      call("2", "bash", { cmd: "ls" }),
      result("2", "files"),
    ]);
    const { text, error } = await client.resume({ request: { conversationState: { rootPromptMessagesJson: roots } } });
    expect(error).toBeUndefined();
    expect(text).toBe("done cold files");
  });

  it("and so it does if the calls are prose among the root messages and only the turns hold them", async () => {
    const { client, connect } = await setUp(transport, { tools: { look: () => "seen" } });
    const script = '@sim call look {"a":1} ;; fault rst ;; say done {{result}}';
    await client.say(script);
    const other = connect();
    for (const [id, bytes] of client.blobs) other.blobs.set(id, bytes);
    const rootPromptMessagesJson = other.storeRoots([
      { role: "system", content: "Be brief." },
      { role: "user", content: script },
      { role: "assistant", content: "[I called look, it said: seen]" },
    ]);
    const conversationState = { rootPromptMessagesJson, turns: client.state?.turns ?? [] };
    expect((await other.say("Go on.", { request: { conversationState } })).text).toBe("done seen");
    // Earlier turns stay as the prompt has them.
    expect((await other.say("@sim say {{history}}")).text.split("\n")).toEqual([
      "system: Be brief.",
      `user: ${script}`,
      "assistant: [I called look, it said: seen]",
      "user: Go on.",
      "assistant: done seen",
    ]);
  });

  it("goes on from a replayed history also with the script of the settings", async () => {
    const { client } = await setUp(
      transport,
      { tools: { look: () => "live" } },
      { script: "@sim call look {} ;; say {{result}}" },
    );
    const roots = client.storeRoots([
      { role: "user", content: "anything" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "mcp_gw_look", args: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "look", result: "cold" }] },
    ]);
    const { text, execs } = await client.resume({ request: { conversationState: { rootPromptMessagesJson: roots } } });
    expect([text, execs.length]).toEqual(["cold", 1]);
  });

  it("a message after the results belongs to the same turn, and its steps follow", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "seen" } });
    const roots = client.storeRoots([
      { role: "user", content: "@sim call look {} ;; say first" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "look", args: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "look", result: "r" }] },
    ]);
    const { text } = await client.say("@sim say second", {
      request: { conversationState: { rootPromptMessagesJson: roots } },
    });
    expect(text).toBe("firstsecond");
  });

  it("stores every blob of a checkpoint before the checkpoint, and keeps what it does not know in the state", async () => {
    const { client } = await setUp(transport);
    const known = new Set<string>();
    await client.say("@sim say a ;; think b ;; say c", {
      request: { conversationState: { agentType: "mine", previousWorkspaceUris: ["file:///w"] } },
      onMessage: (message) => {
        if (message.case === "kvServerMessage" && message.value.message.case === "setBlobArgs") {
          known.add(Buffer.from(message.value.message.value.blobId).toString("hex"));
        }
        if (message.case !== "conversationCheckpointUpdate") return;
        const { rootPromptMessagesJson, turns, agentType, previousWorkspaceUris, tokenDetails } = message.value;
        for (const id of [...rootPromptMessagesJson, ...turns])
          expect(known).toContain(Buffer.from(id).toString("hex"));
        expect([agentType, previousWorkspaceUris]).toEqual(["mine", ["file:///w"]]);
        expect(tokenDetails?.usedTokens).toBeGreaterThan(0);
      },
    });
    expect(known.size).toBeGreaterThan(4);
  });

  it("cancel_action ends the turn with its last checkpoint; a pending tool may still answer", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "late" } });
    const { error, text, usage } = await client.say("@sim say one ;; call look {} ;; say two", {
      intercept: (message, send) => {
        const isCall = message.case === "execServerMessage" && message.value.message.case === "mcpArgs";
        if (isCall) send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } });
        return false;
      },
    });
    expect(error).toBeUndefined();
    expect(text).toBe("one");
    expect(usage).toBeDefined();
  });

  it("cancel_action before there was anything to say just ends the run", async () => {
    const { client } = await setUp(transport, {}, { bootstrapMs: 60_000 });
    const { error, messages } = await client.say("@sim say one", {
      onOpen: (send) => send({ case: "conversationAction", value: { action: { case: "cancelAction", value: {} } } }),
    });
    expect([error, messages.length]).toEqual([undefined, 0]);
  });

  it("a message sent while the answer is under way is echoed, and its steps follow", async () => {
    const { client } = await setUp(transport, { tools: { look: () => "seen" } });
    const { text, updates } = await client.say("@sim call look {} ;; say one", {
      intercept: (message, send) => {
        const isCall = message.case === "execServerMessage" && message.value.message.case === "mcpArgs";
        const userMessage = create(UserMessageSchema, { text: "@sim say two" });
        if (isCall)
          send({
            case: "conversationAction",
            value: { action: { case: "userMessageAction", value: { userMessage } } },
          });
        return false;
      },
    });
    expect(updates).toContain("userMessageAppended");
    expect(text).toBe("onetwo");
  });

  it("summarize_action is answered with a summary", async () => {
    const { client } = await setUp(transport);
    const { updates } = await client.run({ action: { case: "summarizeAction", value: {} } });
    expect(updates).toEqual(expect.arrayContaining(["summaryStarted", "summary", "summaryCompleted", "turnEnded"]));
  });

  it("waits as long as --bootstrap-ms says before the first frame", async () => {
    const { client } = await setUp(transport, {}, { bootstrapMs: 120 });
    const start = performance.now();
    let firstAt = 0;
    await client.say("@sim say hi", {
      onMessage: () => {
        firstAt ||= performance.now();
      },
    });
    expect(firstAt - start).toBeGreaterThanOrEqual(119);
  });

  it("begins that wait at a prewarm_request, and does not repeat it for the run", async () => {
    const { client, trace } = await setUp(transport, {}, { bootstrapMs: 50 });
    const kinds = () =>
      trace.flatMap(({ kind }) => (["prewarm_request", "bootstrap", "run_request"].includes(kind) ? [kind] : []));
    const { promise, resolve } = Promise.withResolvers<void>();
    const stream = client.open({ message: () => resolve(), done: () => resolve() });
    const send = (message: ClientMessage) =>
      stream.send(toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message })));
    send({ case: "prewarmRequest", value: {} });
    await vi.waitFor(() => expect(kinds()).toContain("bootstrap"), 10_000);
    send({ case: "runRequest", value: { conversationId: client.conversationId } });
    await promise;
    stream.cancel();
    expect(kinds()).toEqual(["prewarm_request", "bootstrap", "run_request"]);
  });
});

describe("history and words that come by other ways", () => {
  it("reads a history that a client sends beside its message", async () => {
    const { client } = await setUp("h2");
    const text = (value: string) => ({ content: { case: "text" as const, value: { text: value } } });
    const toolCall = { toolCallId: "1", toolName: "look", argsJson: '{"a":1}' };
    const conversationHistory = create(ConversationHistorySchema, {
      messages: [
        { message: { case: "user", value: { content: [text("first")] } } },
        {
          message: {
            case: "assistant",
            value: { content: [text("so"), { content: { case: "toolCall", value: toolCall } }] },
          },
        },
        { message: { case: "tool", value: { toolCallId: "1", toolName: "look", content: [text("seen")] } } },
        { message: { case: "assistant", value: { content: [text("done")] } } },
      ],
    });
    const userMessage = create(UserMessageSchema, { text: "@sim say {{history}}" });
    const { text: said } = await client.run({
      action: { case: "userMessageAction", value: { userMessage, conversationHistory } },
    });
    const lines = ["user: first", "assistant: so", 'assistant: [look {"a":1}]', "tool: seen", "assistant: done"];
    expect(said).toBe(lines.join("\n"));
    expect((await client.say("@sim say {{history}}")).text).toContain(lines.join("\n"));
  });

  it("takes a word injected into the answer, and says that it was delivered", async () => {
    const { client } = await setUp("h2", { tools: { look: () => "seen" } });
    const { text, messages } = await client.say("@sim call look {} ;; say one", {
      intercept: (message, send) => {
        const isCall = message.case === "execServerMessage" && message.value.message.case === "mcpArgs";
        const userMessage = create(UserMessageSchema, { text: "@sim say two" });
        const value = { injectionId: "i1", context: { case: "userContext" as const, value: { userMessage } } };
        const action = { case: "injectContextAction" as const, value: create(InjectContextActionSchema, value) };
        if (isCall) send({ case: "conversationAction", value: { action } });
        return false;
      },
    });
    expect(text).toBe("onetwo");
    const states = messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" && message.value.message.case === "contextInjectionState"
        ? [message.value.message.value]
        : [],
    );
    expect(states).toMatchObject([{ injectionId: "i1", state: { state: { case: "delivered" } } }]);
  });
});
