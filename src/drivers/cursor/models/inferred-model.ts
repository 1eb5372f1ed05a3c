import { type BaseModel, type NamedVariant, namedSettings, offeredValues, type Variant } from "./base-model.ts";
import { closestVariant } from "./closest-variant.ts";
import { describeModel } from "./describe-model.ts";
import { type FlatVariant, wireName } from "./listed-model.ts";
import type { ModelParameter } from "./model.ts";
import type { PickerRow } from "./model-lists.ts";
import type { Suffixes } from "./suffixes.ts";

/** Creates a model from ids alone: its parameters are their suffixes, and only ids can be sent. */
export function inferredModel(
  base: string,
  row: PickerRow | undefined,
  flat: readonly [FlatVariant, ...FlatVariant[]],
): BaseModel {
  const knobs = {
    thinking: flat.some(({ suffixes }) => suffixes.isThinking),
    effort: flat.some(({ suffixes }) => suffixes.effort !== undefined),
    fast: flat.some(({ suffixes }) => suffixes.isFast),
  };
  const toVariant = ({ details, suffixes }: FlatVariant): Variant => ({
    parameters: parametersOf(suffixes, knobs),
    isMaxMode: suffixes.isMaxMode,
    wire: wireName(details),
  });
  const [first, ...rest] = flat;
  const variants: [Variant, ...Variant[]] = [toVariant(first), ...rest.map(toVariant)];
  const offered = offeredValues(variants);
  const wireIds = new Map<string, NamedVariant>();
  for (const [index, { details, suffixes }] of flat.entries()) {
    const variant = variants[index];
    if (variant) wireIds.set(details.modelId, { variant, named: namedSettings(offered, suffixes) ?? new Map() });
  }

  const usual =
    wireIds.get(base)?.variant ?? wireIds.get(aliased(flat) ?? "")?.variant ?? closestVariant(variants, USUAL);
  return describeModel(base, row, flat, {
    variants: [usual, ...variants.filter((variant) => variant !== usual)],
    hasParameters: false,
    wireIds,
  });
}

const USUAL = {
  settings: new Map([
    ["thinking", "true"],
    ["effort", "medium"],
    ["fast", "false"],
  ]),
  named: new Set<string>(),
  isMaxMode: false,
};

/** The backend gives a model's aliases to its default variant. */
const aliased = (flat: readonly FlatVariant[]): string | undefined =>
  flat.find(({ details }) => details.aliases.length > 0)?.details.modelId;

interface Knobs {
  readonly thinking: boolean;
  readonly effort: boolean;
  readonly fast: boolean;
}

function parametersOf({ isThinking, effort, isFast }: Suffixes, knobs: Knobs): readonly ModelParameter[] {
  const parameters: ModelParameter[] = [];
  if (knobs.thinking) parameters.push({ id: "thinking", value: String(isThinking) });
  if (knobs.effort) parameters.push({ id: "effort", value: effort ?? "medium" });
  if (knobs.fast) parameters.push({ id: "fast", value: String(isFast) });
  return parameters;
}
