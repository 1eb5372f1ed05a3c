import type { Driver } from "../../core/driver.ts";
import { type ApiDialect, type ApiDriverOptions, createApiDriver } from "../shared/api/api-driver.ts";
import { withoutThinking } from "../shared/without-thinking.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { type OpenAiModel, readModels } from "./models.ts";
import { chatRequest } from "./request.ts";
import { responsesRequest } from "./responses/request.ts";
import { ResponseReader } from "./responses/response-reader.ts";
import { OPENAI_URL } from "./settings.ts";

type Dialect = ApiDialect<OpenAiModel>;

const COMMON: Pick<Dialect, "headers" | "modelsPath" | "readModels" | "modelInfo" | "passed"> = {
  headers: (key) => ({ ...(key && { authorization: `Bearer ${key.reveal()}` }) }),
  modelsPath: "/models",
  readModels,
  modelInfo: (model, id) => ({ ...model, id, aliases: [] }),
  passed: { embeddings: "/embeddings", completions: "/completions" },
};

/** OpenAI itself has newer fields than compatible servers, and keeps thinking out of the text. */
const chatDialect = (isOpenAi: boolean): Dialect => ({
  ...COMMON,
  path: "/chat/completions",
  readsTags: !isOpenAi,
  request: (turn, { modelId, effort }) => chatRequest(turn, { modelId, effort, isOpenAi }),
  reader: (options) => new ChunkReader(options),
});

function responsesDialect(): Dialect {
  /** Models that cannot be asked for their reasoning. OpenAI's list of models does not tell. */
  const plain = new Set<string>();
  return {
    ...COMMON,
    path: "/responses",
    readsTags: false,
    request: (turn, { modelId, effort }) =>
      responsesRequest(turn, { modelId, effort, isReasoning: !plain.has(modelId) }),
    reader: (options) => new ResponseReader(options),
    simplify(turn, { kind, message }, modelId) {
      if (kind !== "invalid-request" || !/reasoning|encrypted/i.test(message)) return undefined;
      // Another model or another account cannot read the reasoning.
      const without = withoutThinking(turn);
      if (without || plain.has(modelId)) return without;
      if (plain.size < MAX_PLAIN) plain.add(modelId);
      return turn;
    },
  };
}

const MAX_PLAIN = 1000;

export interface OpenAiDriverOptions extends ApiDriverOptions {
  /** `auto` is `responses` for OpenAI itself, and `chat` for compatible servers. */
  readonly api?: "auto" | "responses" | "chat";
}

/** Creates a driver for OpenAI's Responses or Chat Completions, or a compatible server. The base URL ends in `/v1`. */
export function createOpenAiDriver({ api = "auto", ...options }: OpenAiDriverOptions): Driver {
  const isOpenAi = options.baseURL === OPENAI_URL;
  const isResponses = api === "responses" || (api === "auto" && isOpenAi);
  return createApiDriver(isResponses ? responsesDialect() : chatDialect(isOpenAi), options);
}
