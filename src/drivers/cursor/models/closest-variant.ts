import { effortRank, isEffortParameter } from "../../../core/models/effort.ts";
import { parameterValue, type Settings, type Variant } from "./base-model.ts";

export interface Wish {
  readonly settings: Settings;
  /** The settings that were requested explicitly. The others may yield to them. */
  readonly named: ReadonlySet<string>;
  /** Undefined: as the settings imply. */
  readonly isMaxMode: boolean | undefined;
}

/** Returns the offered variant that is closest to a wish, so that only listed combinations are sent. */
export function closestVariant(variants: readonly [Variant, ...Variant[]], wish: Wish): Variant {
  let [closest] = variants;
  let least = Number.POSITIVE_INFINITY;
  for (const variant of variants) {
    const distance = distanceOf(variant, wish);
    if (distance < least) [closest, least] = [variant, distance];
  }
  return closest;
}

const MAX_MODE_WEIGHT = 1e6;
const NAMED_WEIGHT = 1e4;
const THINKING_WEIGHT = 100;
const OTHER_VALUE = 20;

function distanceOf(variant: Variant, { settings, named, isMaxMode }: Wish): number {
  let distance = isMaxMode === undefined || isMaxMode === variant.isMaxMode ? 0 : MAX_MODE_WEIGHT;
  for (const [id, wanted] of settings) {
    const weight = named.has(id) ? NAMED_WEIGHT : id === "thinking" ? THINKING_WEIGHT : 1;
    distance += weight * valueDistance(id, parameterValue(variant, id), wanted);
  }
  return distance;
}

/** Of two efforts at the same distance, the lower one is closer: it costs less. */
function valueDistance(id: string, value: string | undefined, wanted: string): number {
  if (value === wanted) return 0;
  const [rank, wantedRank] = [effortRank(value ?? ""), effortRank(wanted)];
  if (rank === undefined || wantedRank === undefined || !isEffortParameter(id)) return OTHER_VALUE;
  return 2 * Math.abs(rank - wantedRank) + (rank > wantedRank ? 1 : 0);
}
