import { create, fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Checkpoints } from "../../../../src/faces/cursor/run/checkpoints.ts";
import { ConversationStateStructureSchema } from "../../../../src/gen/agent/v1/conversation_pb.ts";
import { type AgentServerMessage, AgentServerMessageSchema } from "../../../../src/gen/agent/v1/run_pb.ts";
import { UserMessageSchema } from "../../../../src/gen/agent/v1/user_message_pb.ts";
import { ClientRequests } from "../../../../src/wire/agent/client-requests.ts";
import { Transcript } from "../../../../src/wire/agent/state/transcript.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ANSWER_MS = 30_000;

/** Checkpoints for a client that answers only when the test says so. */
function setUp() {
  const sent: AgentServerMessage["message"][] = [];
  const failures: unknown[] = [];
  const client = new ClientRequests({
    send: ({ message }) => sent.push(message),
    onViolation: ({ message }) => {
      throw new Error(message);
    },
    onUnawaited: (error) => failures.push(error),
    answerTimeoutMs: ANSWER_MS,
  });
  const send = (payload: Uint8Array) => sent.push(fromBinary(AgentServerMessageSchema, payload).message);
  const transcript = new Transcript(create(ConversationStateStructureSchema), [], "req", true);
  transcript.addUser(create(UserMessageSchema, { text: "hello" }), "hello");
  const checkpoints = new Checkpoints(client, (payload) => void send(payload));
  const done = checkpoints.send(() => ({ transcript, todos: [], tokens: { used: 1, max: 10 } }));
  const ids = () => sent.flatMap((message) => (message.case === "kvServerMessage" ? [message.value.id] : []));
  const confirm = (id: number) =>
    client.receive({ case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } } as never);
  return { sent, failures, done, ids, confirm };
}

it("waits for a slow client to confirm every blob before the checkpoint that names them", async () => {
  const { sent, done, ids, confirm } = setUp();
  await vi.advanceTimersByTimeAsync(1);
  const [last = 0, ...others] = ids();
  expect(others.length).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(ANSWER_MS / 2);
  for (const id of others) confirm(id);
  await vi.advanceTimersByTimeAsync(ANSWER_MS / 4);
  expect(sent.map(({ case: kind }) => kind)).not.toContain("conversationCheckpointUpdate");
  confirm(last);
  await done;
  expect(sent.at(-1)?.case).toBe("conversationCheckpointUpdate");
});

it("sends no checkpoint to a client that does not confirm a blob in time", async () => {
  const { sent, failures, done } = setUp();
  const failed = expect(done).rejects.toThrow("set_blob_args was not answered");
  await vi.advanceTimersByTimeAsync(ANSWER_MS + 1000);
  await failed;
  expect(failures).not.toEqual([]);
  expect(sent.map(({ case: kind }) => kind)).not.toContain("conversationCheckpointUpdate");
});
