import type { ParameterValue, SimModel } from "./sim-models.ts";

/** A model with every parameter set, which flat lists show as a separate model. */
export interface ModelVariant {
  readonly wireId: string;
  readonly displayName: string;
  readonly shortName: string;
  /** In the order of the model's parameters. */
  readonly params: readonly ParameterValue[];
  /** True if all parameters have their default values. */
  readonly isDefault: boolean;
  readonly isThinking: boolean;
}

/** Returns all combinations of a model's parameters; a single variant if it has none. */
export function variantsOf(model: SimModel): readonly ModelVariant[] {
  let variants: readonly ModelVariant[] = [
    {
      wireId: model.id,
      displayName: model.displayName,
      shortName: model.shortName,
      params: [],
      isDefault: true,
      isThinking: model.thinking !== "never",
    },
  ];
  for (const parameter of model.parameters) {
    variants = variants.flatMap((variant) =>
      parameter.values.map(({ value, suffix, label }) => ({
        wireId: variant.wireId + suffix,
        displayName: `${variant.displayName} ${label}`.trimEnd(),
        shortName: `${variant.shortName} ${label}`.trimEnd(),
        params: [...variant.params, { id: parameter.id, value }],
        isDefault: variant.isDefault && value === parameter.defaultValue,
        isThinking: variant.isThinking && !switchesThinkingOff(model, { id: parameter.id, value }),
      })),
    );
  }
  return variants;
}

function switchesThinkingOff({ thinking }: SimModel, { id, value }: ParameterValue): boolean {
  return typeof thinking === "object" && thinking.unless.id === id && thinking.unless.value === value;
}

/** Returns `base[effort=high,fast=false]`, the notation for users; just the id if there are no parameters. */
export function variantText(baseId: string, params: readonly ParameterValue[]): string {
  if (params.length === 0) return baseId;
  return `${baseId}[${params.map(({ id, value }) => `${id}=${value}`).join(",")}]`;
}
