import { request } from "node:http";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentClientMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { UserMessageSchema } from "../../src/gen/agent/v1/user_message_pb.ts";
import { BidiAppendRequestSchema } from "../../src/gen/aiserver/v1/bidi_pb.ts";
import type { ClientMessage, Intercept } from "./support/backend-client.ts";
import { setUp, TRANSPORTS } from "./support/transports.ts";

const mcpOk: ClientMessage & { case: "execClientMessage" } = {
  case: "execClientMessage",
  value: { id: 1, message: { case: "mcpResult", value: { result: { case: "success", value: { content: [] } } } } },
};

/** Answers the first tool call as the test says, everything else as it should be. */
const onCall =
  (answer: (id: number, execId: string, send: (message: ClientMessage) => void) => void): Intercept =>
  (message, send) => {
    if (message.case !== "execServerMessage" || message.value.message.case !== "mcpArgs") return false;
    answer(message.value.id, message.value.execId, send);
    return true;
  };

const tools = { look: () => "seen" };
const CALL = "@sim call look {} ;; say after";

describe.each(TRANSPORTS)("what the backend rejects, over %s", (transport) => {
  /** A breach, and the message and field that the error must name. */
  const breaches: Readonly<Record<string, { field: string; intercept: Intercept; prompt?: string }>> = {
    "an answer to an exec that was never asked": {
      field: "exec_client_message.id",
      intercept: onCall((_, __, send) => send({ ...mcpOk, value: { ...mcpOk.value, id: 77 } })),
    },
    "a second answer to the same exec": {
      field: "exec_client_message.id",
      intercept: onCall((id, _, send) => {
        send({ ...mcpOk, value: { ...mcpOk.value, id } });
        send({ ...mcpOk, value: { ...mcpOk.value, id } });
      }),
    },
    "a wrong result member": {
      field: "exec_client_message.read_result",
      intercept: onCall((id, _, send) =>
        send({ case: "execClientMessage", value: { id, message: { case: "readResult", value: {} } } }),
      ),
    },
    "an exec_id that differs": {
      field: "exec_client_message.exec_id",
      intercept: onCall((id, _, send) => send({ ...mcpOk, value: { ...mcpOk.value, id, execId: "other" } })),
    },
    "a close of an exec that was never asked": {
      field: "exec_client_control_message.streamClose.id",
      intercept: onCall((_, __, send) =>
        send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id: 77 } } } }),
      ),
    },
    "an answer to a kv request that was never asked": {
      field: "kv_client_message.id",
      intercept: onCall((_, __, send) =>
        send({ case: "kvClientMessage", value: { id: 500, message: { case: "setBlobResult", value: {} } } }),
      ),
    },
    "an answer to a query that was never asked": {
      field: "interaction_response.id",
      intercept: onCall((_, __, send) =>
        send({
          case: "interactionResponse",
          value: { id: 9, result: { case: "switchModeRequestResponse", value: {} } },
        }),
      ),
    },
    "an answer to a query with another member": {
      field: "interaction_response.switch_mode_request_response",
      prompt: '@sim ask {"webSearchRequestQuery":{}} ;; say after',
      intercept: (message, send) => {
        if (message.case !== "interactionQuery") return false;
        const { id } = message.value;
        send({ case: "interactionResponse", value: { id, result: { case: "switchModeRequestResponse", value: {} } } });
        return true;
      },
    },
    "a wrong kv result member": {
      field: "kv_client_message.getBlobResult",
      intercept: (message, send) => {
        if (message.case !== "kvServerMessage" || message.value.message.case !== "setBlobArgs") return false;
        const { id } = message.value;
        send({ case: "kvClientMessage", value: { id, message: { case: "getBlobResult", value: {} } } });
        return true;
      },
    },
    "a second run_request": {
      field: "run_request",
      intercept: onCall((_, __, send) => send({ case: "runRequest", value: {} })),
    },
    "a set_blob that stays unanswered": {
      field: "kv_client_message",
      intercept: (message) => message.case === "kvServerMessage",
    },
    "a request context that stays unanswered": {
      field: "exec_client_message",
      intercept: (message) =>
        message.case === "execServerMessage" && message.value.message.case === "requestContextArgs",
    },
    "a query that stays unanswered": {
      field: "interaction_response",
      prompt: '@sim ask {"webSearchRequestQuery":{}} ;; say after',
      intercept: (message) => message.case === "interactionQuery",
    },
  };

  /** Nobody shall wait for what never comes; where all is answered, a busy machine is no breach. */
  const patience = (name: string) => ({ answerTimeoutMs: name.includes("unanswered") ? 200 : 10_000 });

  it.each(Object.entries(breaches))("%s", async (name, { field, intercept, prompt = CALL }) => {
    const { client, trace } = await setUp(transport, { tools }, patience(name));
    const { error, text } = await client.say(prompt, { intercept });
    expect(error?.kind).toBe("invalid-request");
    expect(error?.message.startsWith(`${field}:`)).toBe(true);
    expect(text).toBe("");
    expect(trace.filter(({ kind }) => kind === "violation")).toHaveLength(1);
  });

  it.each(Object.entries(breaches))(
    "--lenient accepts it, with a trace entry: %s",
    async (name, { intercept, prompt = CALL }) => {
      const { client, trace } = await setUp(transport, { tools }, { ...patience(name), isLenient: true });
      let isFirst = true;
      const { error, text } = await client.say(prompt, {
        intercept: (message, send) => {
          const isBreach = intercept(message, send);
          if (!isBreach || name.includes("unanswered")) return isBreach;
          // After the breach, the proper answer, where the breach was not taken for one.
          const answersItself = /second answer|wrong result|differs|another member|wrong kv/.test(name);
          const isDone = isFirst && answersItself;
          isFirst = false;
          return isDone;
        },
      });
      expect(error).toBeUndefined();
      expect(text).toBe("after");
      expect(trace.filter(({ kind }) => kind === "violation")).not.toHaveLength(0);
    },
  );

  it("blob bytes whose sha256 is not their id", async () => {
    const { client } = await setUp(transport);
    const id = client.storeBlob('{"role":"user","content":"hi"}');
    client.blobs.set(Buffer.from(id).toString("hex"), Buffer.from("something else"));
    const { error } = await client.say("@sim say hi", {
      request: { conversationState: { rootPromptMessagesJson: [id] } },
    });
    expect(error?.message).toContain("kv_client_message.get_blob_result.blob_data:");
  });

  it("pushed blobs whose sha256 is not their id", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say("@sim say hi", {
      request: { preFetchedBlobs: [{ id: new Uint8Array(32), value: Buffer.from("x") }] },
    });
    expect(error?.message).toContain("run_request.pre_fetched_blobs.value:");
  });

  it("blob ids in structures that are not 32 bytes", async () => {
    const { client } = await setUp(transport);
    const { error } = await client.say("@sim say hi", {
      request: { conversationState: { rootPromptMessagesJson: [Uint8Array.of(10, 82)] } },
    });
    expect(error?.message).toContain("conversation_state.root_prompt_messages_json[0]:");
    expect(error?.message).toContain("Blob not found: 10,82");
    expect(error?.context).toMatchObject({ connectCode: "internal" });
  });

  it("blob ids that are not 32 bytes, in every structure that has some", async () => {
    const { client } = await setUp(transport);
    const short = Uint8Array.of(1, 2, 3);
    const states = { todos: [short], summary: short, plan: short, summaryArchives: [short] };
    for (const [name, value] of Object.entries(states)) {
      const { error } = await client.say("@sim say hi", { request: { conversationState: { [name]: value } } });
      expect(error?.message).toContain("conversation_state.");
      expect(error?.message).toContain("a blob id has 32 bytes");
    }
    const image = { uuid: "1", dataOrBlobId: { case: "blobId" as const, value: short } };
    const userMessage = create(UserMessageSchema, { text: "hi", selectedContext: { selectedImages: [image] } });
    const { error } = await client.run({ action: { case: "userMessageAction", value: { userMessage } } });
    expect(error?.message).toContain("user_message.selected_context.selected_images[0].blob_id:");
  });

  it("a message that is no message", async () => {
    const { client } = await setUp(transport);
    const error = await new Promise<unknown>((resolve) => {
      const stream = client.open({ message: () => {}, done: resolve });
      stream.send(Uint8Array.of(0xff, 0xff));
    });
    expect(error).toMatchObject({ message: expect.stringMatching(/^parse binary: /) });
  });
});

describe.each(TRANSPORTS)("what the backend accepts since real clients do so, over %s", (transport) => {
  it.each([
    ["no exec_id, no stream_close", onCall((id, _, send) => send({ ...mcpOk, value: { ...mcpOk.value, id } }))],
    [
      "heartbeats of an exec, and its close more than once",
      onCall((id, execId, send) => {
        send({ case: "execClientControlMessage", value: { message: { case: "heartbeat", value: { id } } } });
        send({ ...mcpOk, value: { ...mcpOk.value, id, execId } });
        for (let n = 0; n < 2; n++) {
          send({ case: "execClientControlMessage", value: { message: { case: "streamClose", value: { id } } } });
        }
      }),
    ],
    [
      "a throw instead of a result",
      onCall((id, _, send) =>
        send({ case: "execClientControlMessage", value: { message: { case: "throw", value: { id, error: "oh" } } } }),
      ),
    ],
    [
      "a client heartbeat, a prewarm",
      onCall((id, _, send) => {
        send({ case: "clientHeartbeat", value: {} });
        send({ case: "prewarmRequest", value: {} });
        send({ ...mcpOk, value: { ...mcpOk.value, id } });
      }),
    ],
  ] as const)("%s", async (_, intercept) => {
    const { client } = await setUp(transport, { tools });
    const { error, text } = await client.say(CALL, { intercept });
    expect(error).toBeUndefined();
    expect(text).toBe("after");
  });

  it("no word about the blobs it was given to store, if the answer is not a long one", async () => {
    const { client, trace } = await setUp(transport);
    const { error, text, usage } = await client.say("@sim think hm ;; say one ;; say two", {
      intercept: (message) => message.case === "kvServerMessage",
    });
    expect(error).toBeUndefined();
    expect(text).toBe("onetwo");
    expect(usage).toBeDefined();
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });

  it("an empty blob result: the run fails only if the blob was needed", async () => {
    const { client } = await setUp(transport);
    const missing = new Uint8Array(32).fill(7);
    const needed = await client.say("@sim say hi", {
      request: { conversationState: { rootPromptMessagesJson: [missing] } },
    });
    expect(needed.error?.message).toContain(`Blob not found: ${Array(32).fill(7).join(",")}`);
    const root = client.storeBlob('{"role":"user","content":[{"type":"text","text":"earlier"}]}');
    const spare = await client.say("@sim say hi", {
      request: { conversationState: { rootPromptMessagesJson: [root], turns: [missing] } },
    });
    expect(spare.error).toBeUndefined();
    expect(spare.text).toBe("hi");
  });

  it("a client tool pending for longer than anything else may", async () => {
    const gate = Promise.withResolvers<string>();
    const { client, trace } = await setUp(
      transport,
      { tools: { look: () => gate.promise } },
      { answerTimeoutMs: 500, heartbeatMs: 20 },
    );
    const answer = client.say(CALL, {
      onMessage: () => {
        const beats = trace.filter(({ kind }) => kind === "heartbeat").length;
        if (beats >= 40) gate.resolve("late");
      },
    });
    expect((await answer).text).toBe("after");
  });

  it("a reset with a tool pending", async () => {
    const { client, trace } = await setUp(transport, { tools: { look: () => new Promise<string>(() => {}) } });
    const abort = new AbortController();
    const { error } = await client.say(CALL, {
      signal: abort.signal,
      onMessage: (message) => {
        if (message.case === "execServerMessage" && message.value.message.case === "mcpArgs") abort.abort();
      },
    });
    expect(error?.kind).toBe("canceled");
    await expect.poll(() => trace.some(({ kind }) => kind === "reset")).toBe(true);
    expect(trace.some(({ kind }) => kind === "violation")).toBe(false);
  });
});

describe("the HTTP/1.1 pair", () => {
  const append = (url: string, body: Uint8Array) =>
    fetch(`${url}/aiserver.v1.BidiService/BidiAppend`, {
      method: "POST",
      headers: { authorization: "Bearer tester", "content-type": "application/proto" },
      body: Buffer.from(body),
    });
  const upload = (requestId: string, data: string, seqno = 0n) =>
    toBinary(
      BidiAppendRequestSchema,
      create(BidiAppendRequestSchema, { data, requestId: { requestId }, appendSeqno: seqno }),
    );
  const hex = (message: ClientMessage) =>
    Buffer.from(toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }))).toString("hex");
  const runRequest = hex({
    case: "runRequest",
    value: { action: { action: { case: "userMessageAction", value: { userMessage: { text: "@sim say hi" } } } } },
  });

  it("rejects bad hex, and ends the run that it was for", async () => {
    const { sim, trace } = await setUp("h1");
    const frame = Buffer.concat([Uint8Array.of(0, 0, 0, 0, 4), Uint8Array.of(10, 2), Buffer.from("r1")]);
    const download = fetch(`${sim.url}/agent.v1.AgentService/RunSSE`, {
      method: "POST",
      headers: { authorization: "Bearer tester", "content-type": "application/connect+proto" },
      body: frame,
    });
    const response = await append(sim.url, upload("r1", "zz"));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("BidiAppendRequest.data"),
    });
    expect(Buffer.from(await (await download).arrayBuffer()).toString("latin1")).toContain("BidiAppendRequest.data");
    expect(trace.some(({ kind }) => kind === "violation")).toBe(true);
  });

  it("puts uploads in order, takes each once, and answers 200 to those after the end", async () => {
    const { sim } = await setUp("h1", {}, { isLenient: true });
    const heartbeat = hex({ case: "clientHeartbeat", value: {} });
    expect((await append(sim.url, upload("r2", heartbeat, 1n))).status).toBe(200);
    expect((await append(sim.url, upload("r2", runRequest, 0n))).status).toBe(200);
    expect((await append(sim.url, upload("r2", runRequest, 0n))).status).toBe(200);
    const frame = Buffer.concat([Uint8Array.of(0, 0, 0, 0, 4), Uint8Array.of(10, 2), Buffer.from("r2")]);
    const download = await new Promise<string>((resolve) => {
      const call = request(
        `${sim.url}/agent.v1.AgentService/RunSSE`,
        { method: "POST", headers: { authorization: "Bearer tester", "content-type": "application/connect+proto" } },
        (response) => {
          let body = "";
          response.setEncoding("latin1").on("data", (chunk) => {
            body += chunk;
          });
          response.on("close", () => resolve(body));
          // Nobody answers the context: the first frame is proof enough.
          response.once("data", () => call.destroy());
        },
      );
      call.on("error", () => {}).end(frame);
    });
    expect(download.length).toBeGreaterThan(0);
    expect((await append(sim.url, upload("r2", heartbeat, 2n))).status).toBe(200);
    expect((await append(sim.url, upload("never-seen", heartbeat, 5n))).status).toBe(200);
  });
});
