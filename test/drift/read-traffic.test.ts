import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCapture } from "../../src/capture/capture-reader.ts";
import { CaptureWriter } from "../../src/capture/capture-writer.ts";
import { CaptureRecorder } from "../../src/capture/recorder.ts";
import { isConflict } from "../../src/drift/compare-schemas.ts";
import { readTraffic } from "../../src/drift/read-traffic.ts";
import { AgentServerMessageSchema } from "../../src/gen/agent/v1/run_pb.ts";
import { openMasked } from "../capture/support/masked-records.ts";
import { recordCassette } from "../sim/support/record-cassette.ts";
import { setUp, TRANSPORTS } from "../sim/support/transports.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drift-"));
  file = join(folder, "a.capture");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Records one run that receives these messages, twice. */
async function differencesOf(path: string, ...received: readonly Uint8Array[]) {
  const recorder = new CaptureRecorder(new CaptureWriter({ file, maxBytes: 1e6, onEnd: expect.unreachable }));
  const headers = { "content-type": "application/connect+proto", "x-cursor-novelty": "1" };
  const call = recorder.call({ method: "POST", origin: "https://a.test", path, headers, transport: "h2" });
  call.response({ status: 200, headers: { "content-type": "application/connect+proto" } });
  for (const bytes of [...received, ...received])
    call.message({ direction: "received", form: "frame", flags: 0, wasCompressed: false, bytes });
  recorder.close();
  return readTraffic(openMasked(file));
}

const RUN = "/agent.v1.AgentService/Run";

test("lists fields, enum values and headers that the schema does not know, with counts and examples", async () => {
  // interaction_update { text_delta { 99: "hi" } }
  const field = Uint8Array.from([0x0a, 7, 0x0a, 5, 0x9a, 0x06, 2, 0x68, 0x69]);
  const mode = toBinary(
    AgentServerMessageSchema,
    create(AgentServerMessageSchema, {
      message: { case: "conversationCheckpointUpdate", value: { mode: 1000 as never } },
    }),
  );
  const { differences, read } = await differencesOf(RUN, field, mode);
  expect(read).toEqual({ calls: 1, messages: 4 });
  expect(differences.map(({ what, owner, name, count, example }) => [what, owner, name, count, example])).toEqual([
    ["header", "request", "x-cursor-novelty", 1, "1"],
    ["field", "agent.v1.TextDeltaUpdate", "#99", 2, "026869"],
    ["enum value", "agent.v1.AgentMode", "#1000", 2, "agent.v1.ConversationStateStructure.mode"],
  ]);
  expect(differences.filter(isConflict)).toEqual([]);
});

test("leaves other APIs out, and reads no more than it is told to", async () => {
  const other = await differencesOf("/v1/chat/completions", Buffer.from("{}"));
  expect(other).toMatchObject({ differences: [], read: { calls: 0, messages: 0 }, isCut: false });
  rmSync(file);
  await differencesOf(RUN, Uint8Array.from([0x9a, 0x06, 0]));
  const offsets = (await Array.fromAsync(readCapture(file))).map(({ offset }) => offset);
  const last = offsets.at(-1) ?? 0;
  expect(await readTraffic(openMasked(file), last + 1)).toMatchObject({ read: { messages: 2 }, isCut: false });
  expect(await readTraffic(openMasked(file), last)).toMatchObject({ read: { calls: 1, messages: 1 }, isCut: true });
});

test("lists RPCs that the schema does not know", async () => {
  const { differences } = await differencesOf("/agent.v1.AgentService/Levitate");
  expect(differences).toContainEqual(
    expect.objectContaining({ what: "rpc", owner: "agent.v1.AgentService", name: "Levitate", count: 1 }),
  );
});

test("a message that the schema cannot read is a conflict", async () => {
  const { differences } = await differencesOf(RUN, Uint8Array.from([0x0a, 200, 1]));
  expect(differences.filter(isConflict)).toEqual([
    expect.objectContaining({ what: "message", owner: "agent.v1.AgentServerMessage", count: 2 }),
  ]);
});

test.each(TRANSPORTS)("the simulator says nothing over %s that the schema does not know", async (transport) => {
  const { sim } = await setUp(transport);
  const tools = { look: () => "a" };
  await recordCassette(
    { url: sim.url, transport, tools },
    (client) => client.say("@sim think hm ;; call look {} ;; say a"),
    file,
  );
  const { differences, read } = await readTraffic(openMasked(file));
  expect(read.messages).toBeGreaterThan(10);
  expect(differences).toEqual([]);
});

test("a file that is no capture is refused", async () => {
  writeFileSync(file, "hello, this is not one");
  await expect(readTraffic(openMasked(file))).rejects.toThrow("is not a capture");
});
