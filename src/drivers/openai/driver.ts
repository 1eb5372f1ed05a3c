import type { Driver } from "../../core/driver.ts";
import { RetryBudget } from "../../core/engine/retry-budget.ts";
import type { Secret } from "../../core/secret.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import { type Hop, type ModelNames, readBaseUrl } from "../shared/api-endpoint.ts";
import { type ApiLimits, type ApiProtocol, ApiRun } from "../shared/api-run.ts";
import { ModelList } from "../shared/model-list.ts";
import { toolNames } from "../shared/tool-names.ts";
import { withoutWishes } from "../shared/without-wishes.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { readModels } from "./models.ts";
import { chatRequest } from "./request.ts";

export interface OpenAiOptions {
  readonly transport: HttpTransport;
  /** With `/v1`, as OpenAI's own clients take it. */
  readonly baseURL: string;
  readonly key: Secret | undefined;
  readonly names: ModelNames;
  /** How hard to think where the client does not say. */
  readonly effort?: string | undefined;
  readonly hop?: Hop | undefined;
  readonly limits?: Partial<ApiLimits> | undefined;
}

export const OPENAI_URL = "https://api.openai.com/v1";

/** OpenAI's Chat Completions, or one of the many servers that speak it, as a driver. */
export function createOpenAiDriver(options: OpenAiOptions): Driver {
  const { transport, baseURL, key, names } = options;
  const endpoint = {
    transport,
    ...readBaseUrl(baseURL),
    headers: { ...(key && { authorization: `Bearer ${key.reveal()}` }) },
    hop: baseURL === OPENAI_URL ? undefined : options.hop,
  };
  const models = new ModelList({ endpoint, path: "/models", read: readModels });
  const { host } = new URL(endpoint.origin);
  const isOpenAi = baseURL === OPENAI_URL;
  const protocol: ApiProtocol = {
    path: "/chat/completions",
    readsTags: !isOpenAi,
    request: async (turn) =>
      chatRequest(turn, {
        modelId: names.toUpstream(turn.model.id),
        effort: turn.model.effort ?? options.effort,
        isOpenAi,
      }),
    reader: (turn) => new ChunkReader({ host, toolName: toolNames(turn.tools) }),
    simplify: withoutWishes,
  };
  const retries = new RetryBudget();
  return {
    limitsOutput: true,
    takesSampling: true,
    open(turn, context) {
      retries.earn();
      return new ApiRun({ turn, context, endpoint, protocol, retries, limits: options.limits });
    },
    listModels: async () =>
      (await models.current()).flatMap((model) => {
        const id = names.toClient(model.id);
        return id === undefined ? [] : [{ ...model, id, aliases: [] }];
      }),
  };
}
