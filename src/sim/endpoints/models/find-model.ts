import { variantsOf } from "./model-variants.ts";
import { MODELS, type SimModel } from "./sim-models.ts";

export interface FoundModel {
  readonly baseId: string;
  readonly displayName: string;
  readonly contextTokens: number;
  /** The ordinary window if there is no max mode. */
  readonly maxModeContextTokens: number;
  readonly supportsImages: boolean;
}

const BY_ID: ReadonlyMap<string, FoundModel> = new Map(
  MODELS.flatMap((model) => {
    const ids = [model.id, ...model.aliases, ...variantsOf(model).map(({ wireId }) => wireId)];
    return ids.map((id) => [id, describe(model)] as const);
  }),
);

/** Finds a model by its id on the wire: with suffixes, bare, as an alias, or as `base[key=value,…]`. */
export function findModel(id: string): FoundModel | undefined {
  const bracket = id.indexOf("[");
  return BY_ID.get(bracket > 0 && id.endsWith("]") ? id.slice(0, bracket) : id);
}

function describe(model: SimModel): FoundModel {
  return {
    baseId: model.id,
    displayName: model.displayName,
    contextTokens: model.contextTokens,
    maxModeContextTokens: model.maxModeContextTokens ?? model.contextTokens,
    supportsImages: model.supportsImages,
  };
}
