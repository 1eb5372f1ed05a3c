import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Usage } from "../../core/events.ts";
import type { Turn } from "../../core/turn.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import type { Prices } from "../../usage/prices.ts";
import type { Call } from "../call.ts";
import type { ModelRow, ModelsReply, ProbeReply } from "../messages.ts";
import { readBody } from "../read-body.ts";

export interface ModelSources {
  /** Its turns are recorded. */
  readonly engine: Pick<Engine, "listModels" | "run">;
  readonly prices: Prices;
  /** Returns the name of the driver that answers for a model. */
  readonly driverOf: (model: string) => string;
}

/** Some 400 bytes each. */
const MAX_MODELS = 400;
const PROBE_MS = 60_000;
const PROBE_TEXT = "Reply with the word ready, and nothing else.";
const MAX_TEXT = 200;

const Probe = z.object({ model: z.string().min(1).max(200) });

/** The calls of the page Models. */
export const modelCalls = ({ engine, prices, driverOf }: ModelSources): readonly Call[] => [
  {
    method: "GET",
    path: "/models",
    async handle({ signal }): Promise<ModelsReply> {
      const models = await engine.listModels(OWNER, signal);
      const rows = models.slice(0, MAX_MODELS).map((model): ModelRow => {
        const driver = driverOf(model.id);
        return {
          id: model.id,
          name: model.displayName,
          aliases: model.aliases.slice(0, 8),
          driver,
          contextTokens: model.contextTokens,
          supportsImages: model.supportsImages,
          isThinking: model.isThinking,
          efforts: model.efforts,
          price: priceOf(prices, model.id, driver),
        };
      });
      return { models: rows, modelCount: models.length };
    },
  },
  {
    method: "POST",
    path: "/probes",
    handle({ body, signal }): Promise<ProbeReply> {
      const { model } = readBody(Probe, body);
      return probe(engine, model, AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]));
    },
  },
];

/** Asks a model one short question. A failure is a result, too. */
async function probe(engine: ModelSources["engine"], model: string, signal: AbortSignal): Promise<ProbeReply> {
  const startedAt = performance.now();
  const since = () => Math.round(performance.now() - startedAt);
  let firstTokenMs: number | null = null;
  let text = "";
  let outputTokens: number | null = null;
  try {
    for await (const events of engine.run(probeTurn(model), { requestId: randomUUID(), signal })) {
      for (const event of events) {
        if (event.type === "text" || event.type === "thinking") firstTokenMs ??= since();
        if (event.type === "text" && text.length < MAX_TEXT) text = (text + event.text).slice(0, MAX_TEXT);
        if (event.type === "usage") outputTokens = event.usage.outputTokens;
      }
    }
    return { model, isFine: true, firstTokenMs, durationMs: since(), outputTokens, text };
  } catch (thrown) {
    const { message, hint } = ExcursorError.from(thrown);
    return { model, isFine: false, durationMs: since(), message, hint: hint ?? null };
  }
}

const probeTurn = (model: string): Turn => ({
  principal: OWNER,
  model: { id: model, effort: undefined },
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: PROBE_TEXT }] }],
  tools: [],
  toolChoice: { type: "none" },
  allowsParallelCalls: false,
  stop: [],
  maxOutputTokens: undefined,
  output: { type: "text" },
});

/** Few enough for the lowest tier of every price. */
const RATE_TOKENS = 10_000;

/** Returns millionths of a dollar for a million tokens. */
function priceOf(prices: Prices, model: string, driver: string): ModelRow["price"] {
  const cost = (usage: Partial<Usage>) => prices.costOf({ ...NO_USAGE, ...usage }, model, driver);
  const input = cost({ inputTokens: RATE_TOKENS });
  const output = cost({ outputTokens: RATE_TOKENS });
  if (!input || !output) return null;
  const perMillion = 1_000_000 / RATE_TOKENS;
  return { inputMicros: input.micros * perMillion, outputMicros: output.micros * perMillion, source: input.source };
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: false,
};
