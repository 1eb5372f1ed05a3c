import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AvailableModelsResponse_AvailableModelSchema,
  AvailableModelsResponse_VariantSchema,
  AvailableModelsResponseSchema,
} from "../../../gen/aiserver/v1/models_pb.ts";
import { variantsOf, variantText } from "./model-variants.ts";
import { MODELS, type SimModel } from "./sim-models.ts";

/** Returns the list for the model picker: a row for each model, with its variants. */
export const availableModels = (): MessageInitShape<typeof AvailableModelsResponseSchema> => ({
  modelNames: MODELS.map(({ id }) => id),
  models: MODELS.map(pickerRow),
});

function pickerRow(model: SimModel): MessageInitShape<typeof AvailableModelsResponse_AvailableModelSchema> {
  const { maxModeContextTokens } = model;
  return {
    name: model.id,
    defaultOn: true,
    supportsImages: model.supportsImages,
    supportsMaxMode: maxModeContextTokens !== undefined,
    supportsNonMaxMode: true,
    contextTokenLimit: model.contextTokens,
    ...(maxModeContextTokens === undefined ? {} : { contextTokenLimitForMaxMode: maxModeContextTokens }),
    clientDisplayName: model.displayName,
    serverModelName: model.id,
    variants: [
      ...pickerVariants(model, false),
      ...(maxModeContextTokens === undefined ? [] : pickerVariants(model, true)),
    ],
  };
}

function pickerVariants(
  model: SimModel,
  isMaxMode: boolean,
): MessageInitShape<typeof AvailableModelsResponse_VariantSchema>[] {
  return variantsOf(model).map(({ params, displayName, isDefault }) => ({
    parameters: params.map(({ id, value }) => ({ id, value })),
    displayName,
    isMaxMode,
    isDefaultMaxConfig: isDefault && isMaxMode,
    isDefaultNonMaxConfig: isDefault && !isMaxMode,
    displayNameOutsidePicker: displayName,
    variantStringRepresentation: variantText(model.id, params),
  }));
}
