import type { ModelDetails } from "../../../gen/agent/v1/model_pb.ts";
import { AgentService } from "../../../gen/agent/v1/service_pb.ts";
import { AiService } from "../../../gen/aiserver/v1/ai_pb.ts";
import type { AvailableModelsResponse_AvailableModel } from "../../../gen/aiserver/v1/models_pb.ts";
import { callUnary } from "../../../wire/connect/unary.ts";
import type { HttpTransport } from "../../../wire/http/http.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";

export type PickerRow = AvailableModelsResponse_AvailableModel;

/** The backend's two lists of the same models. */
export interface ModelLists {
  /** Every variant as a model of its own, with aliases. */
  readonly flat: readonly ModelDetails[];
  /** Base models with their windows, and variants as sets of parameters. */
  readonly rows: readonly PickerRow[];
}

/** Loads the lists. Either may fail independently. */
export interface ModelListSource {
  flat(credential: AccountCredential): Promise<readonly ModelDetails[]>;
  rows(credential: AccountCredential): Promise<readonly PickerRow[]>;
}

export interface ModelListOptions {
  readonly transport: HttpTransport;
  readonly origin: string;
  /** Returns the headers of `callHeaders("unary-proto")`. */
  headers(credential: AccountCredential): Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

export function createModelListSource(options: ModelListOptions): ModelListSource {
  const { transport, origin, headers, timeoutMs = TIMEOUT_MS } = options;
  const call = (credential: AccountCredential) => ({ transport, origin, timeoutMs, headers: headers(credential) });
  return {
    async flat(credential) {
      const { models } = await callUnary({
        ...call(credential),
        method: AgentService.method.getUsableModels,
        input: {},
      });
      return models;
    },
    async rows(credential) {
      const input = { includeLongContextModels: true, useModelParameters: true, useCloudAgentEffortModes: true };
      const { models } = await callUnary({ ...call(credential), method: AiService.method.availableModels, input });
      return models;
    },
  };
}
