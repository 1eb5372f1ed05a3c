import { historyKeys } from "../../src/core/history/history-key.ts";
import { isDeeperThan } from "../../src/core/json/json-depth.ts";
import { Secret } from "../../src/core/secret.ts";
import { Offer } from "../../src/drivers/cursor/request/offer.ts";
import { rebuildPrompt } from "../../src/drivers/cursor/request/prompt.ts";
import { encodeRunRequest } from "../../src/drivers/cursor/request/run-request.ts";
import { createAnthropicMessagesFace } from "../../src/faces/anthropic-messages/face.ts";
import { createOpenAiChatFace } from "../../src/faces/openai-chat/face.ts";
import { createOpenAiResponsesFace } from "../../src/faces/openai-responses/face.ts";
import { createReasoningSeal } from "../../src/faces/openai-responses/reasoning-seal.ts";
import type { Face } from "../../src/faces/shared/face.ts";
import { createResponseStore } from "../../src/state/response-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { type BenchResult, median, ROUNDS, spreadOf } from "../harness/measure.ts";
import { LARGE_REQUESTS } from "./large-request.ts";

/** Both are measured in turn, so that other load on the caches affects both. */
const SLICES = 20;
const REPEATS = 20;
const BOUND = 20;

const context = {
  principal: { id: "p", token: undefined },
  requestId: "r",
  images: { load: () => Promise.reject(new Error("there are no images")) },
  path: {},
  query: new URLSearchParams(),
  header: () => undefined,
};
const model = {
  kind: "variant",
  modelId: "m",
  displayModelId: "m",
  displayName: "M",
  parameters: [],
  maxMode: false,
} as const;

/** Measures what happens to a large request before it is sent (parse, check, hash, encode), against parsing alone. */
export async function measureRequestCost(): Promise<BenchResult[]> {
  const state = await openStateDatabase(":memory:");
  const faces: Readonly<Record<keyof typeof LARGE_REQUESTS, Face>> = {
    "Chat Completions": createOpenAiChatFace(),
    Responses: createOpenAiResponsesFace({
      store: createResponseStore(state),
      seal: createReasoningSeal(new Secret("a secret of the bench alone")),
    }),
    Messages: createAnthropicMessagesFace(),
  };
  const results: BenchResult[] = [];
  for (const name of Object.keys(LARGE_REQUESTS) as (keyof typeof LARGE_REQUESTS)[]) {
    const body = Buffer.from(LARGE_REQUESTS[name]);
    const ratios: number[] = [];
    let us = 0;
    // The first round does not count.
    for (let round = 0; round <= ROUNDS; round++) {
      let [readUs, allUs] = [0, 0];
      for (let slice = 0; slice < SLICES; slice++) {
        readUs += await cpuUs(() => JSON.parse(body.toString("utf8")));
        allUs += await cpuUs(() => prepare(faces[name], body));
      }
      us = allUs / SLICES / REPEATS;
      if (round > 0) ratios.push(allUs / readUs);
    }
    results.push({
      name: `${name}: a request of ${Math.round(body.length / 1024)} KiB / JSON.parse`,
      value: median(ratios),
      bound: BOUND,
      note: `${spreadOf(ratios, 1)}; ${us.toFixed(0)} µs`,
    });
  }
  state.close();
  return results;
}

async function prepare(face: Face, body: Buffer): Promise<number> {
  if (isDeeperThan(body, 128)) throw new Error("too deep");
  const { turn } = await face.parse(JSON.parse(body.toString("utf8")), context);
  historyKeys(turn.messages);
  const { state, action, conversationId } = rebuildPrompt({ turn, model: { encodings: [model] } });
  const offer = new Offer(turn.system, turn.tools);
  return encodeRunRequest({ state, action, conversationId, runId: "r", model, offer }).length;
}

async function cpuUs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < REPEATS; n++) await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
