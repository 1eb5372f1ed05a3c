import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/core/turn.ts";
import { createServeRun } from "../../../src/faces/cursor/run/serve-run.ts";
import type { BackendClient } from "../../sim/support/backend-client.ts";
import { engineWith, STOP, say } from "./support/models.ts";
import { LOCAL, setUpSim } from "./support/stage.ts";

const LIMITS = { maxFrameBytes: 64 << 20 };
const MODELS = [{ ...LOCAL, id: "m" }];

const imagesOf = ({ messages }: Turn) =>
  messages.flatMap(({ content }) => content.flatMap((part) => (part.type === "image" ? [part.data.length] : [])));

/** Sends an image of ten megabytes, which the server asks for as a blob or which comes with the message. */
function show(client: BackendClient, text: string, as: "blob" | "data", request: object = {}) {
  const data = randomBytes(10 << 20);
  const value =
    as === "blob" ? { case: "blobId" as const, value: client.storeBlob(data) } : { case: "data" as const, value: data };
  const selectedImages = [{ mimeType: "image/png", dataOrBlobId: value }];
  const userMessage = { text, messageId: "1", selectedContext: { selectedImages } };
  return client.run({ action: { case: "userMessageAction", value: { userMessage } } }, { request });
}

describe.each(["h2", "h1"] as const)("images of ten megabytes over %s", { timeout: 60_000 }, (transport) => {
  it.each(["blob", "data"] as const)("reach the account's model as %s", async (as) => {
    const { connect, connectDirectly } = await setUpSim();
    for (const open of [connectDirectly, connect]) {
      const client = open(transport, { limits: LIMITS });
      const first = await show(client, "@sim say {{images}}", as);
      expect([first.text, first.error]).toEqual([`1 image/png:${10 << 20}`, undefined]);
      const second = await client.say("@sim say {{turns}} again");
      expect(second.error).toBeUndefined();
    }
  });

  it.each(["blob", "data"] as const)("reach our own model as %s, and come back with the next message", async (as) => {
    const { engine, turns } = engineWith(() => [say("Seen."), STOP]);
    const { connect } = await setUpSim({ serveRun: createServeRun({ engine }), models: MODELS });
    const client = connect(transport, { limits: LIMITS });
    const request = { requestedModel: { modelId: "excursor/m" } };
    const first = await show(client, "look", as, request);
    expect([first.text, first.error]).toEqual(["Seen.", undefined]);
    const second = await client.say("again", { request });
    expect(second.error).toBeUndefined();
    expect(turns.map(imagesOf)).toEqual([[10 << 20], [10 << 20]]);
  });
});
