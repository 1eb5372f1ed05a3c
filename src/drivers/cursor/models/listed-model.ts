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

/** An id of the flat list, and what its end says. */
export interface FlatVariant {
  readonly details: ModelDetails;
  readonly suffixes: Suffixes;
}

/** A model whose parameters the backend lists, with the ids that its variants have in the flat list. */
export function listedModel(row: PickerRow, flat: readonly FlatVariant[]): BaseModel {
  const bare = bareVariants(row);
  const offered = offeredValues(bare);
  const wires = new Map<Variant, WireName>();
  const meanings = flat.map(({ details, suffixes }) => {
    const named = namedSettings(offered, suffixes) ?? new Map();
    const variant = meantVariant(bare, named, suffixes.isMaxMode);
    for (const same of bare.filter((other) => haveSameParameters(other, variant))) {
      // Max mode is a flag beside the id, so both modes have the same one, unless an id says it itself.
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

/** Whether a model of the picker can mean this id. */
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

/** The default first. */
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

/** An id says what is on; what it does not name is off, and the effort the default one. */
function meantVariant(variants: readonly [Variant, ...Variant[]], named: Settings, isMaxMode: boolean): Variant {
  const settings = new Map(settingsOf(variants[0].parameters));
  for (const id of ["thinking", "fast"]) if (settings.has(id)) settings.set(id, "false");
  for (const [id, value] of named) settings.set(id, value);
  const weighty = new Set([...named.keys(), "thinking", "fast"]);
  return closestVariant(variants, { settings, named: weighty, isMaxMode });
}

/** Between the two modes the window differs by nature. */
function haveSameParameters(a: Variant, b: Variant): boolean {
  const others = settingsOf(b.parameters);
  return (
    a.parameters.length === b.parameters.length &&
    a.parameters.every(({ id, value }) => others.get(id) === value || (id === "context" && a.isMaxMode !== b.isMaxMode))
  );
}
