import type { BaseModel, NamedVariant, Variant } from "./base-model.ts";
import { offeredValues } from "./base-model.ts";
import type { FlatVariant } from "./listed-model.ts";
import type { PickerRow } from "./model-lists.ts";

/** Used if the backend gives no window. */
const USUAL_CONTEXT_TOKENS = 200_000;

interface Parts {
  readonly variants: readonly [Variant, ...Variant[]];
  readonly hasParameters: boolean;
  readonly wireIds: ReadonlyMap<string, NamedVariant>;
}

/** Combines what both lists say about a model. `row` is its row in the picker, if there is one. */
export function describeModel(
  id: string,
  row: PickerRow | undefined,
  flat: readonly FlatVariant[],
  { variants, hasParameters, wireIds }: Parts,
): BaseModel {
  const own = flat.find(({ details }) => details.modelId === id)?.details;
  const displayId = id === "default" ? "auto" : own?.displayModelId || id;
  const contextTokens = row?.contextTokenLimit || USUAL_CONTEXT_TOKENS;
  const hasMaxMode = row?.supportsMaxMode || variants.some((variant) => variant.isMaxMode);
  const aliases = new Map<string, Variant>(id === displayId ? [] : [[id, variants[0]]]);
  for (const { details } of flat) {
    const variant = wireIds.get(details.modelId)?.variant ?? variants[0];
    for (const alias of details.aliases) if (alias !== displayId) aliases.set(alias, variant);
  }
  const offered = offeredValues(variants);
  return {
    id,
    displayId,
    displayName: (row?.name === id && row.clientDisplayName) || own?.displayName || commonName(flat) || id,
    aliases,
    contextTokens,
    maxModeContextTokens: hasMaxMode ? row?.contextTokenLimitForMaxMode || contextTokens : undefined,
    needsMaxMode: row?.supportsNonMaxMode === false && row.supportsMaxMode === true,
    supportsImages: row?.supportsImages ?? true,
    isThinking:
      flat.some(({ details }) => details.thinkingDetails !== undefined) ||
      ["thinking", "effort", "reasoning"].some((parameter) => offered.has(parameter)),
    variants,
    offered,
    hasParameters,
    wireIds,
  };
}

/** Returns the words that all variants' names begin with. */
function commonName(flat: readonly FlatVariant[]): string {
  const [first = [], ...others] = flat.map(({ details }) => details.displayName.split(" "));
  const end = first.findIndex((word, index) => others.some((words) => words[index] !== word));
  return (end < 0 ? first : first.slice(0, end)).join(" ");
}
