import { create } from "@bufbuild/protobuf";
import { Secret } from "../../../../src/core/secret.ts";
import type { ModelEncoding } from "../../../../src/drivers/cursor/models/model.ts";
import {
  createModelListSource,
  type ModelListSource,
  type PickerRow,
} from "../../../../src/drivers/cursor/models/model-lists.ts";
import { type ModelDetails, ModelDetailsSchema } from "../../../../src/gen/agent/v1/model_pb.ts";
import { AvailableModelsResponse_AvailableModelSchema } from "../../../../src/gen/aiserver/v1/models_pb.ts";
import { startSim } from "../../../../src/sim/server.ts";
import { callHeaders } from "../../../../src/wire/agent/headers.ts";
import { createConnectionPool } from "../../../../src/wire/http/connection-pool.ts";

export const ALICE = { id: "alice", token: new Secret("tester") };
export const NEVER = new AbortController().signal;

/** The lists of the simulated backend, over the wire. */
export async function simulatedLists(): Promise<ModelListSource & AsyncDisposable> {
  const sim = await startSim();
  const transport = createConnectionPool();
  const source = createModelListSource({
    transport,
    origin: sim.url,
    headers: ({ token }) => callHeaders("unary-proto", { token: token.reveal() }),
  });
  return {
    ...source,
    async [Symbol.asyncDispose]() {
      transport.destroy();
      await sim.close();
    },
  };
}

export const flatList = (...ids: readonly string[]): ModelDetails[] =>
  ids.map((modelId) => create(ModelDetailsSchema, { modelId, displayModelId: modelId, displayName: modelId }));

export interface RowShape {
  readonly name: string;
  /** The first is the default. */
  readonly variants?: readonly Readonly<Record<string, string>>[];
  readonly maxModeVariants?: readonly Readonly<Record<string, string>>[];
  readonly supportsNonMaxMode?: boolean;
}

export function row({ name, variants = [], maxModeVariants = [], supportsNonMaxMode = true }: RowShape): PickerRow {
  const toVariant = (isMaxMode: boolean) => (values: Readonly<Record<string, string>>, index: number) => ({
    parameters: Object.entries(values).map(([id, value]) => ({ id, value })),
    isMaxMode,
    isDefaultNonMaxConfig: !isMaxMode && index === 0,
    isDefaultMaxConfig: isMaxMode && index === 0,
  });
  return create(AvailableModelsResponse_AvailableModelSchema, {
    name,
    supportsNonMaxMode,
    contextTokenLimit: 200_000,
    ...(maxModeVariants.length === 0 ? {} : { supportsMaxMode: true, contextTokenLimitForMaxMode: 1_000_000 }),
    variants: [...variants.map(toVariant(false)), ...maxModeVariants.map(toVariant(true))],
  });
}

/** `id`, or `base[a=b]`, with `+max` in max mode. */
export const shown = ({ kind, modelId, parameters, maxMode }: ModelEncoding): string => {
  const values = parameters.map(({ id, value }) => `${id}=${value}`).join(",");
  return `${modelId}${kind === "variant" ? "" : `[${values}]`}${maxMode ? "+max" : ""}`;
};
