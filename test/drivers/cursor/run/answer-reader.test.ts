import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Offer } from "../../../../src/drivers/cursor/request/offer.ts";
import { AnswerReader } from "../../../../src/drivers/cursor/run/answer-reader.ts";
import { AgentServerMessageSchema } from "../../../../src/gen/agent/v1/run_pb.ts";
import { Blobs } from "../../../../src/wire/agent/state/blobs.ts";
import { aTurn } from "../../../core/support/turns.ts";

type Sent = MessageInitShape<typeof AgentServerMessageSchema>["message"] & object;
type Update = Extract<Sent, { case: "interactionUpdate" }>["value"]["message"] & object;

function aReader(over: Parameters<typeof aTurn>[0] = {}) {
  const turn = aTurn({ tools: [{ name: "look", description: "", schema: {} }], ...over });
  const reader = new AnswerReader(turn, new Offer("", turn.tools));
  const blobs = new Blobs();
  const step = (message: Sent) => reader.step(create(AgentServerMessageSchema, { message }), blobs);
  const update = (message: Update) => step({ case: "interactionUpdate", value: { message } });
  return { reader, blobs, step, update };
}

const call = { name: "excursor-look", toolName: "look", toolCallId: "c" };

describe("what a message of the backend means", () => {
  it("text is shown, and a notice is told", () => {
    const { reader, update } = aReader();
    const notice = update({ case: "textDelta", value: { text: "busy", isServerNotice: true } });
    expect(notice).toEqual([{ type: "tell", event: { type: "notice", code: "server_notice", text: "busy" } }]);
    expect(reader.shown.hasAny).toBe(false);
    const said = update({ case: "textDelta", value: { text: "hi" } });
    expect(said).toEqual([{ type: "show", event: { type: "text", text: "hi" } }]);
    expect([reader.shown.hasAny, reader.shown.hasUncovered]).toEqual([true, true]);
  });

  it("arguments are shown as they grow, of the client's tools only", () => {
    const { update } = aReader();
    const partial = (argsTextDelta: string, args = call) => {
      const toolCall = { tool: { case: "mcpToolCall" as const, value: { args } } };
      return update({ case: "partialToolCall", value: { callId: "c", toolCall, argsTextDelta } });
    };
    expect(partial('{"a"').map((effect) => effect.type === "show" && effect.event.type)).toEqual([
      "tool-call-start",
      "tool-call-delta",
    ]);
    expect(partial('{"a":1}')).toEqual([{ type: "show", event: { type: "tool-call-delta", id: "c", json: ":1}" } }]);
    expect(partial("{}", { ...call, name: "other", toolName: "other" })).toEqual([]);
  });

  it("an exec of the client's tool is a call, and one of another tool gets a reply", () => {
    const { step } = aReader();
    const exec = (args: typeof call) =>
      step({ case: "execServerMessage", value: { id: 1, message: { case: "mcpArgs", value: args } } });
    expect(exec(call)).toMatchObject([{ type: "call", call: { id: "c", name: "look", execId: 1 } }]);
    expect(exec({ ...call, name: "other", toolName: "other" }).map(({ type }) => type)).toEqual(["send", "send"]);
  });

  it("tokens are counted where the answer is limited, from the last results on", () => {
    const { reader, update } = aReader({ maxOutputTokens: 10 });
    const count = () => update({ case: "tokenDelta", value: { tokens: 3 } });
    count();
    reader.begin([]);
    expect(count()).toMatchObject([{ type: "tell", event: { usage: { outputTokens: 3 } } }]);
    expect(aReader().update({ case: "tokenDelta", value: { tokens: 3 } })).toEqual([]);
  });

  it("the end of a turn brings its bill", () => {
    const { update } = aReader();
    expect(update({ case: "turnEnded", value: {} })).toEqual([{ type: "turn-ended" }]);
    const billed = update({ case: "turnEnded", value: { inputTokens: 5n, outputTokens: 2n } });
    expect(billed).toMatchObject([{ event: { usage: { inputTokens: 5 } } }, { type: "turn-ended" }]);
  });

  it("a checkpoint is kept, a blob stored and found, and what is unknown reported", () => {
    const { reader, blobs, step } = aReader();
    expect(step({ case: "conversationCheckpointUpdate", value: {} })).toEqual([
      { type: "checkpoint", isSettled: true },
    ]);
    expect(reader.checkpoint).toBeDefined();
    const blobId = new Uint8Array(32);
    const stored = { case: "setBlobArgs" as const, value: { blobId, blobData: Uint8Array.of(1) } };
    expect(step({ case: "kvServerMessage", value: { id: 1, message: stored } })).toMatchObject([{ type: "send" }]);
    expect(blobs.get(blobId)).toEqual(Uint8Array.of(1));
    expect(step({ case: "kvServerMessage", value: { id: 2 } })).toMatchObject([
      { type: "unknown", kind: "kv request" },
    ]);
    const query = step({ case: "interactionQuery", value: { id: 3 } });
    expect(query.map(({ type }) => type)).toEqual(["unknown", "send"]);
  });
});
