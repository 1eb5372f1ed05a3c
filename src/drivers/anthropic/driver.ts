import type { Driver } from "../../core/driver.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { Turn } from "../../core/turn.ts";
import { type ApiDialect, type ApiDriverOptions, createApiDriver } from "../shared/api/api-driver.ts";
import { withoutThinking } from "../shared/without-thinking.ts";
import { MessageReader } from "./message-reader.ts";
import { type AnthropicModel, modelInfo, readModels } from "./models.ts";
import { messagesRequest } from "./request.ts";

const DIALECT: ApiDialect<AnthropicModel> = {
  headers: (key) => ({ "anthropic-version": "2023-06-01", ...(key && { "x-api-key": key.reveal() }) }),
  modelsPath: "/v1/models?limit=1000",
  readModels,
  modelInfo,
  path: "/v1/messages",
  readsTags: false,
  request: async (turn, { modelId, effort, describeModel }) =>
    messagesRequest(turn, { modelId, model: await describeModel(), effort }),
  reader: (options) => new MessageReader(options),
  simplify: (turn, refusal) => simplify(turn, refusal),
};

/** Creates a driver for Anthropic's Messages API or a compatible server. The base URL has no `/v1`. */
export const createAnthropicDriver = (options: ApiDriverOptions): Driver => createApiDriver(DIALECT, options);

/** Signatures of another upstream or an older session are rejected. */
const simplify = (turn: Turn, { kind, message }: ExcursorError): Turn | undefined =>
  kind === "invalid-request" && /signature|thinking/i.test(message) ? withoutThinking(turn) : undefined;
