import { rm } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { textOf } from "../../src/core/turn.ts";
import { createServeRun } from "../../src/faces/cursor/run/serve-run.ts";
import { loadCassette } from "../../src/replay/cassette.ts";
import { replayCassette } from "../../src/replay/replay-cassette.ts";
import { headersWith } from "../../src/replay/replay-target.ts";
import { createConnectionPool } from "../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../src/wire/http/h1-transport.ts";
import { openMasked } from "../capture/support/masked-records.ts";
import { engineWith, STOP, say } from "../faces/cursor/support/models.ts";
import { LOCAL, SIGNED_IN, setUpSim } from "../faces/cursor/support/stage.ts";
import type { BackendClient } from "../sim/support/backend-client.ts";
import { recordCassette } from "../sim/support/record-cassette.ts";
import { cassetteFile, isRecording } from "./support/cassette-file.ts";

/** Records what a client does at this address. Its tools are none. */
async function record(name: string, url: string, act: (client: BackendClient) => Promise<unknown>): Promise<void> {
  await rm(cassetteFile(name), { force: true });
  await recordCassette({ url, transport: "h2", token: SIGNED_IN }, act, cassetteFile(name));
}

describe("a recorded backend that resets its connection", () => {
  const PROMPT = "@sim say before ;; fault tcp-reset times=9";
  const NAME = "tcp-reset";
  if (isRecording) {
    test("is recorded", async () => {
      await record(NAME, (await setUpSim()).sim.url, (client) => client.say(PROMPT));
    });
  }

  test.each(["h2", "h1"] as const)("is the same error through the face, over %s", async (transport) => {
    const { connect, connectDirectly } = await setUpSim(
      {},
      { cassette: await loadCassette(openMasked(cassetteFile(NAME))) },
    );
    const [direct, passed] = [await connectDirectly(transport).say(PROMPT), await connect(transport).say(PROMPT)];
    expect([direct.text, direct.error?.code]).toEqual(["before", "connection_reset"]);
    expect([passed.text, passed.error?.code]).toEqual([direct.text, direct.error?.code]);
  });
});

describe("a recorded client with attached context in blobs", () => {
  const NAME = "context-in-blobs";
  const startFace = async () => {
    const { engine, turns } = engineWith(() => [say("Seen."), STOP]);
    const { url } = await setUpSim({ serveRun: createServeRun({ engine }), models: [{ ...LOCAL, id: "m" }] });
    return { url, turns };
  };
  if (isRecording) {
    test("is recorded", async () => {
      await record(NAME, (await startFace()).url, async (client) => {
        const dataOrBlobId = { case: "blobId" as const, value: client.storeBlob("FROM A BLOB") };
        const selectedContext = { extraContextEntries: [{ dataOrBlobId }] };
        const userMessage = { text: "look", messageId: "1", selectedContext };
        const request = { requestedModel: { modelId: "excursor/m" } };
        await client.run({ action: { case: "userMessageAction", value: { userMessage } } }, { request });
      });
    });
  }

  test("is answered the same, and the model gets the context", async () => {
    const { url: origin, turns } = await startFace();
    const transports = { h1: createHttp1Transport(), h2: createConnectionPool() };
    onTestFinished(() => {
      for (const transport of Object.values(transports)) transport.destroy();
    });
    const headersFor = headersWith(new Secret(SIGNED_IN));
    const target = { origin, transports, isPaced: false, timeoutMs: 20_000, headersFor };
    const calls = await Array.fromAsync(replayCassette(await loadCassette(openMasked(cassetteFile(NAME))), target));
    expect(calls).toMatchObject([{ result: "same" }]);
    expect(textOf(turns[0]?.messages[0]?.content ?? [])).toBe("FROM A BLOB\n\nlook");
  });
});
