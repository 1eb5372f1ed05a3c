import type { Driver } from "../../core/driver.ts";
import { RetryBudget } from "../../core/engine/retry-budget.ts";
import type { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Turn } from "../../core/turn.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import { type Hop, type ModelNames, readBaseUrl } from "../shared/api-endpoint.ts";
import { type ApiLimits, type ApiProtocol, ApiRun } from "../shared/api-run.ts";
import { ModelList } from "../shared/model-list.ts";
import { toolNames } from "../shared/tool-names.ts";
import { withoutWishes } from "../shared/without-wishes.ts";
import { MessageReader } from "./message-reader.ts";
import { modelInfo, readModels } from "./models.ts";
import { messagesRequest } from "./request.ts";

export interface AnthropicOptions {
  readonly transport: HttpTransport;
  /** Without `/v1`. */
  readonly baseURL: string;
  readonly key: Secret | undefined;
  readonly names: ModelNames;
  /** How hard to think where the client does not say. */
  readonly effort?: string | undefined;
  readonly hop?: Hop | undefined;
  readonly limits?: Partial<ApiLimits> | undefined;
}

export const ANTHROPIC_URL = "https://api.anthropic.com";

/** Anthropic's Messages API, or a server that speaks it, as a driver. */
export function createAnthropicDriver(options: AnthropicOptions): Driver {
  const { transport, baseURL, key, names } = options;
  const endpoint = {
    transport,
    ...readBaseUrl(baseURL),
    headers: { "anthropic-version": "2023-06-01", ...(key && { "x-api-key": key.reveal() }) },
    hop: baseURL === ANTHROPIC_URL ? undefined : options.hop,
  };
  const models = new ModelList({ endpoint, path: "/v1/models?limit=1000", read: readModels });
  const { host } = new URL(endpoint.origin);
  const protocol: ApiProtocol = {
    path: "/v1/messages",
    readsTags: false,
    async request(turn) {
      const modelId = names.toUpstream(turn.model.id);
      const model = (await models.known()).find(({ id }) => id === modelId);
      return messagesRequest(turn, { modelId, model, effort: turn.model.effort ?? options.effort });
    },
    reader: (turn) => new MessageReader({ host, toolName: toolNames(turn.tools) }),
    simplify: (turn, refusal) => withoutWishes(turn, refusal) ?? withoutThinking(turn, refusal),
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
        return id === undefined ? [] : [modelInfo(model, id)];
      }),
  };
}

/** Signatures of another upstream or another time are refused. The conversation is worth more than what was thought. */
function withoutThinking(turn: Turn, { kind, message }: ExcursorError): Turn | undefined {
  if (kind !== "invalid-request" || !/signature|thinking/i.test(message)) return undefined;
  let hasThinking = false;
  const messages = turn.messages.map((message) => {
    if (message.role !== "assistant") return message;
    const content = message.content.filter(({ type }) => type !== "thinking");
    if (content.length === message.content.length) return message;
    hasThinking = true;
    return { ...message, content };
  });
  return hasThinking ? { ...turn, messages } : undefined;
}
