import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ModelDetailsSchema } from "../../../gen/agent/v1/model_pb.ts";
import { AgentService } from "../../../gen/agent/v1/service_pb.ts";
import { AiService } from "../../../gen/aiserver/v1/ai_pb.ts";
import type { Routes } from "../../backend.ts";
import { unaryRoute } from "../unary-route.ts";
import { availableModels } from "./available-models.ts";
import { type ModelVariant, variantsOf } from "./model-variants.ts";
import { MODELS, type SimModel } from "./sim-models.ts";

type ModelDetails = MessageInitShape<typeof ModelDetailsSchema>;

const allDetails = (): readonly ModelDetails[] =>
  MODELS.flatMap((model) => variantsOf(model).map((variant) => modelDetails(model, variant)));

const usableModels = () => ({ models: [...allDetails()] });

const defaultModel = () => ({ model: allDetails().find(({ modelId }) => modelId === "default") ?? {} });

function modelDetails(model: SimModel, variant: ModelVariant): ModelDetails {
  const isAuto = model.id === "default";
  return {
    modelId: variant.wireId,
    displayModelId: isAuto ? "auto" : variant.wireId,
    displayName: variant.displayName,
    displayNameShort: variant.shortName,
    // An alias must mean one model only.
    aliases: variant.isDefault ? [...model.aliases] : [],
    ...(variant.isThinking ? { thinkingDetails: {} } : {}),
  };
}

/** The lists of models. Two services have the same methods, because clients use either. */
export const modelRpcRoutes: Routes = {
  ...unaryRoute(AgentService.method.getUsableModels, usableModels),
  ...unaryRoute(AiService.method.getUsableModels, usableModels),
  ...unaryRoute(AgentService.method.getDefaultModelForCli, defaultModel),
  ...unaryRoute(AiService.method.getDefaultModelForCli, defaultModel),
  ...unaryRoute(AiService.method.availableModels, availableModels),
};
