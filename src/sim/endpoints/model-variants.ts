import type { CatalogueModel, ParameterValue } from "./catalogue.ts";

/** A model with every parameter set: what the flat lists show as a model of its own. */
export interface ModelVariant {
  readonly wireId: string;
  readonly displayName: string;
  readonly shortName: string;
  /** In the order of the model's parameters. */
  readonly params: readonly ParameterValue[];
  /** The values that the model has if nothing is said. */
  readonly isDefault: boolean;
  readonly isThinking: boolean;
}

/** All combinations of a model's parameters; one without any for a model that has none. */
export function variantsOf(model: CatalogueModel): readonly ModelVariant[] {
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

function switchesThinkingOff({ thinking }: CatalogueModel, { id, value }: ParameterValue): boolean {
  return typeof thinking === "object" && thinking.unless.id === id && thinking.unless.value === value;
}

/** `base[effort=high,fast=false]`, the form in which a person writes a variant; a model without parameters is its id. */
export function variantText(baseId: string, params: readonly ParameterValue[]): string {
  if (params.length === 0) return baseId;
  return `${baseId}[${params.map(({ id, value }) => `${id}=${value}`).join(",")}]`;
}
