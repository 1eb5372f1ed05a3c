import type { Driver } from "../../core/driver.ts";
import { type ApiDialect, type ApiDriverOptions, createApiDriver } from "../shared/api/api-driver.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { type OpenAiModel, readModels } from "./models.ts";
import { chatRequest } from "./request.ts";
import { OPENAI_URL } from "./settings.ts";

/** OpenAI accepts fields that others refuse, and keeps thinking out of the text. */
const dialect = (isOpenAi: boolean): ApiDialect<OpenAiModel> => ({
  headers: (key) => ({ ...(key && { authorization: `Bearer ${key.reveal()}` }) }),
  modelsPath: "/models",
  readModels,
  modelInfo: (model, id) => ({ ...model, id, aliases: [] }),
  path: "/chat/completions",
  readsTags: !isOpenAi,
  request: (turn, { modelId, effort }) => chatRequest(turn, { modelId, effort, isOpenAi }),
  reader: (options) => new ChunkReader(options),
});

/** Creates a driver for OpenAI's Chat Completions or a compatible server. The base URL ends in `/v1`. */
export const createOpenAiDriver = (options: ApiDriverOptions): Driver =>
  createApiDriver(dialect(options.baseURL === OPENAI_URL), options);
