import type { Driver, ModelInfo } from "../../../core/driver.ts";
import { RetryBudget } from "../../../core/engine/run/retry-budget.ts";
import type { ExcursorError } from "../../../core/errors.ts";
import type { PassedApi, PassedRequest } from "../../../core/passed-request.ts";
import type { Secret } from "../../../core/secret.ts";
import type { Turn } from "../../../core/turn.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";
import { ModelList } from "../model-list.ts";
import { toolNames } from "../tool-names.ts";
import { withoutRefusedOptions } from "../without-refused-options.ts";
import { type ApiEndpoint, type Hop, type ModelNames, readBaseUrl } from "./api-endpoint.ts";
import type { ApiReaderOptions } from "./api-reader.ts";
import { type ApiLimits, type ApiReader, type ApiRequest, ApiRun } from "./api-run.ts";
import { passOn } from "./pass-on.ts";

/** One public API: its paths, requests and responses. */
export interface ApiDialect<Model extends { readonly id: string }> {
  headers(key: Secret | undefined): Readonly<Record<string, string>>;
  /** Relative to the base URL. */
  readonly modelsPath: string;
  readModels(body: unknown): readonly Model[];
  /** Describes a model under the clients' name. */
  modelInfo(model: Model, id: string): ModelInfo;
  /** Relative to the base URL. */
  readonly path: string;
  /** True if models may write their thinking into the text, between tags. */
  readonly readsTags: boolean;
  request(turn: Turn, options: ApiRequestOptions<Model>): Promise<ApiRequest> | ApiRequest;
  /** Creates the reader of one answer. */
  reader(options: ApiReaderOptions): ApiReader;
  /** The paths of APIs without turns, relative to the base URL. Absent: there are none. */
  readonly passed?: Readonly<Record<PassedApi, string>>;
  /** Returns the turn without what the upstream refused, beyond {@link withoutRefusedOptions}. Undefined if nothing helps. */
  simplify?(turn: Turn, refusal: ExcursorError, modelId: string): Turn | undefined;
}

interface ApiRequestOptions<Model> {
  /** The upstream's name of the model. */
  readonly modelId: string;
  /** The client's effort, else the one of the settings. */
  readonly effort: string | undefined;
  /** Returns the upstream's description, if the model is listed. The first call may ask the upstream. */
  describeModel(): Promise<Model | undefined>;
}

export interface ApiDriverOptions {
  readonly transport: HttpTransport;
  readonly baseURL: string;
  readonly key: Secret | undefined;
  readonly names: ModelNames;
  /** The effort for requests that name none. */
  readonly effort?: string | undefined;
  /** Set if the upstream may be a gateway. */
  readonly hop?: Hop | undefined;
  readonly limits?: Partial<ApiLimits> | undefined;
}

export function createApiDriver<Model extends { readonly id: string }>(
  dialect: ApiDialect<Model>,
  options: ApiDriverOptions,
): Driver {
  const { transport, baseURL, key, names, hop, limits } = options;
  const endpoint = { transport, ...readBaseUrl(baseURL), headers: dialect.headers(key), hop };
  const models = new ModelList({ endpoint, path: dialect.modelsPath, read: dialect.readModels });
  const { host } = new URL(endpoint.origin);
  const protocol = {
    path: dialect.path,
    readsTags: dialect.readsTags,
    async request(turn: Turn) {
      const modelId = names.toUpstream(turn.model.id);
      const effort = turn.model.effort ?? options.effort;
      const describeModel = async () => (await models.known()).find(({ id }) => id === modelId);
      return dialect.request(turn, { modelId, effort, describeModel });
    },
    reader: (turn: Turn) => dialect.reader({ host, toolName: toolNames(turn.tools) }),
    simplify: (turn: Turn, refusal: ExcursorError) =>
      withoutRefusedOptions(turn, refusal) ?? dialect.simplify?.(turn, refusal, names.toUpstream(turn.model.id)),
  };
  const retries = new RetryBudget();
  return {
    host,
    limitsOutput: true,
    takesSampling: true,
    open(turn, context) {
      retries.earn();
      const run = new ApiRun({ turn, context, endpoint, protocol, retries, limits });
      run.start();
      return run;
    },
    ...(dialect.passed && { passOn: passTo(endpoint, dialect.passed, names) }),
    retries: () => retries.stats(),
    listModels: async () =>
      (await models.current()).flatMap((model) => {
        const id = names.toClient(model.id);
        return id === undefined ? [] : [dialect.modelInfo(model, id)];
      }),
  };
}

/** Sends a request with the upstream's name of its model. */
const passTo =
  (
    endpoint: ApiEndpoint,
    paths: Readonly<Record<PassedApi, string>>,
    names: ModelNames,
  ): NonNullable<Driver["passOn"]> =>
  (request: PassedRequest, signal) =>
    passOn(
      endpoint,
      paths[request.api],
      { ...request, body: { ...request.body, model: names.toUpstream(request.model) } },
      signal,
    );
