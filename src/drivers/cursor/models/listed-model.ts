import type { ModelDetails } from "../../../gen/agent/v1/model_pb.ts";
import {
  type BaseModel,
  type NamedVariant,
  namedSettings,
  offeredValues,
  type Settings,
  settingsOf,
  type Variant,
  type WireName,
} from "./base-model.ts";
import { closestVariant } from "./closest-variant.ts";
import { describeModel } from "./describe-model.ts";
import type { PickerRow } from "./model-lists.ts";
import type { Suffixes } from "./suffixes.ts";

/** An id of the flat list with its parsed suffixes. */
export interface FlatVariant {
  readonly details: ModelDetails;
  readonly suffixes: Suffixes;
}

/** Creates a model whose parameters the backend lists, with the ids of its variants in the flat list. */
export function listedModel(row: PickerRow, flat: readonly FlatVariant[]): BaseModel {
  const bare = bareVariants(row);
  const offered = offeredValues(bare);
  const wires = new Map<Variant, WireName>();
  const meanings = flat.map(({ details, suffixes }) => {
    const named = namedSettings(offered, suffixes) ?? new Map();
    const variant = meantVariant(bare, named, suffixes.isMaxMode);
    for (const same of bare.filter((other) => haveSameParameters(other, variant))) {
      // Max mode is a flag beside the id, so both modes share an id, unless an id names the mode.
      if (!wires.has(same) || (suffixes.isMaxMode && same === variant)) wires.set(same, wireName(details));
    }
    return { details, variant, named };
  });

  const whole = new Map(bare.map((variant) => [variant, { ...variant, wire: wires.get(variant) }]));
  const wireIds = new Map<string, NamedVariant>();
  for (const { details, variant, named } of meanings) {
    wireIds.set(details.modelId, { variant: whole.get(variant) ?? variant, named });
  }
  const [first, ...rest] = whole.values();
  return describeModel(row.name, row, flat, {
    variants: [first ?? bare[0], ...rest],
    hasParameters: true,
    wireIds,
  });
}

/** Returns whether an id with these suffixes can belong to a row of the picker. */
export function fitsRow(row: PickerRow, suffixes: Suffixes): boolean {
  const variants = bareVariants(row);
  if (suffixes.isMaxMode && !row.supportsMaxMode && !variants.some((variant) => variant.isMaxMode)) return false;
  return namedSettings(offeredValues(variants), suffixes) !== undefined;
}

export const wireName = ({ modelId, displayModelId, displayName }: ModelDetails): WireName => ({
  modelId,
  displayModelId: displayModelId || modelId,
  displayName: displayName || modelId,
});

/** The default comes first. */
function bareVariants(row: PickerRow): readonly [Variant, ...Variant[]] {
  const standing = row.variants.map((variant) => ({
    isDefault: variant.isDefaultNonMaxConfig || (variant.isDefaultMaxConfig && row.supportsNonMaxMode === false),
    variant: {
      parameters: variant.parameters.map(({ id, value }) => ({ id, value })),
      isMaxMode: variant.isMaxMode,
      wire: undefined,
    },
  }));
  const ordered = standing.sort((a, b) => Number(b.isDefault) - Number(a.isDefault)).map(({ variant }) => variant);
  const [first = { parameters: [], isMaxMode: false, wire: undefined }, ...rest] = ordered;
  return [first, ...rest];
}

/** Returns the variant that an id means. Flags that the id does not name are off; the effort is the default. */
function meantVariant(variants: readonly [Variant, ...Variant[]], named: Settings, isMaxMode: boolean): Variant {
  const settings = new Map(settingsOf(variants[0].parameters));
  for (const id of ["thinking", "fast"]) if (settings.has(id)) settings.set(id, "false");
  for (const [id, value] of named) settings.set(id, value);
  const weighty = new Set([...named.keys(), "thinking", "fast"]);
  return closestVariant(variants, { settings, named: weighty, isMaxMode });
}

/** Compares parameters. The context differs between the two modes by design. */
function haveSameParameters(a: Variant, b: Variant): boolean {
  const others = settingsOf(b.parameters);
  return (
    a.parameters.length === b.parameters.length &&
    a.parameters.every(({ id, value }) => others.get(id) === value || (id === "context" && a.isMaxMode !== b.isMaxMode))
  );
}
