import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { ExcursorError } from "../../../../src/core/errors.ts";
import type { Message } from "../../../../src/core/turn.ts";
import { ConversationStateStructureSchema } from "../../../../src/gen/agent/v1/conversation_pb.ts";
import { UserMessageSchema } from "../../../../src/gen/agent/v1/user_message_pb.ts";
import { mcpArgs, mcpDisplay } from "../../../../src/wire/agent/exec/mcp-call.ts";
import { type BlobSource, Blobs } from "../../../../src/wire/agent/state/blobs.ts";
import { stateFromHistory } from "../../../../src/wire/agent/state/build-state.ts";
import { readRoots, readTurns } from "../../../../src/wire/agent/state/read-state.ts";
import { Transcript } from "../../../../src/wire/agent/state/transcript.ts";

const png = Buffer.from("\x89PNG image", "latin1");

const conversation: readonly Message[] = [
  {
    role: "user",
    content: [
      { type: "text", text: "look" },
      { type: "file", name: "a.txt", text: "content" },
      { type: "image", mediaType: "image/png", data: png },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "I look." }] },
  { role: "assistant", content: [{ type: "tool-call", id: "1", name: "look", args: { at: "a", deep: [1, null] } }] },
  {
    role: "tool",
    callId: "1",
    content: [
      { type: "text", text: "seen" },
      { type: "image", mediaType: "image/png", data: png },
    ],
    isError: true,
  },
  { role: "user", content: [{ type: "text", text: "and?" }] },
];

const source = (blobs: Blobs): BlobSource => ({
  get: async (id) => blobs.get(id),
  onBadId: (field, problem) => {
    throw new Error(`${field}: ${problem}`);
  },
});

/** Bytes as hex: a blob may come back as a `Uint8Array` or a `Buffer`. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
};

describe("a state that was built from a conversation", () => {
  const blobs = new Blobs();
  const state = fromBinary(ConversationStateStructureSchema, stateFromHistory(conversation, blobs));

  it("is read back from its turns as it was", async () => {
    const turns = await readTurns(state, source(blobs));
    expect(plain(turns.flat())).toEqual(plain(conversation));
    expect(turns).toHaveLength(2);
  });

  it("is read back from its root messages, with images of results after the results", async () => {
    const roots = await readRoots(state, source(blobs));
    expect(roots.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "tool", "user", "user"]);
    expect(plain(roots[2])).toEqual(plain(conversation[2]));
    expect(roots[3]).toMatchObject({ callId: "1", isError: true });
    expect(plain(roots[4])).toMatchObject({ content: [{}, { type: "image", mediaType: "image/png" }] });
  });

  it("says which blob is missing: for a root by a throw, for a turn in its place", async () => {
    const none = source(new Blobs());
    const field = "conversation_state.turns[0]";
    await expect(readRoots(state, none)).rejects.toMatchObject({ code: "blob_not_found" });
    expect((await readTurns(state, none))[0]).toMatchObject({ code: "blob_not_found", field });
  });

  it("refuses a blob that is no turn", async () => {
    const other = new Blobs();
    const wrong = create(ConversationStateStructureSchema, { turns: [other.add(Buffer.from("\xff\xff", "latin1"))] });
    const refused = readTurns(wrong, source(other));
    await expect(refused).rejects.toMatchObject({ code: "blob_unreadable" } satisfies Partial<ExcursorError>);
  });
});

it("a run that is recorded is read back, calls of a batch before their results", async () => {
  const transcript = new Transcript(create(ConversationStateStructureSchema), [], "request");
  const image = { uuid: "1", mimeType: "image/png", dataOrBlobId: { case: "data" as const, value: png } };
  const asked = create(UserMessageSchema, { text: "go", selectedContext: { selectedImages: [image] } });
  const argsOf = (id: string) =>
    mcpArgs({ $typeName: "agent.v1.McpToolDefinition", name: "p-t", toolName: "t" } as never, { n: 1 }, id);
  transcript.addUser(asked, "go");
  transcript.addThinking("hm");
  transcript.endThinking(5);
  transcript.addText("I ");
  transcript.addText("call.");
  transcript.addCalls(["1", "2"].map((id) => ({ id, name: "t", args: { n: 1 }, display: mcpDisplay(argsOf(id)) })));
  const display = mcpDisplay(argsOf("1"), { case: "success", value: { content: [], isError: false } as never });
  transcript.endCall("1", display, { content: [{ type: "text", text: "one" }], isError: false });
  const blobs = new Blobs();
  const state = transcript.state({ used: 1, max: 2 }, (content) => blobs.add(content));

  const call = (id: string) => ({ type: "tool-call", id, name: "t", args: { n: 1 } });
  expect(await readRoots(state, source(blobs))).toMatchObject([
    { role: "user", content: [{ text: "go" }] },
    { role: "assistant", content: [{ type: "thinking", text: "hm" }, { text: "I call." }, call("1"), call("2")] },
    { role: "tool", callId: "1", content: [{ text: "one" }] },
  ]);
  expect(plain(await readTurns(state, source(blobs)))).toMatchObject([
    [
      { role: "user", content: [{ text: "go" }, { type: "image", data: png.toString("hex") }] },
      { content: [{ type: "thinking", text: "hm" }] },
      { content: [{ text: "I call." }] },
      { content: [call("1")] },
      { role: "tool", callId: "1" },
      { content: [call("2")] },
    ],
  ]);
});
