import { type BaseModel, namedSettings, type Settings, type Variant } from "./base-model.ts";
import { type Brackets, readBrackets, splitBrackets } from "./brackets.ts";
import { type Suffixes, splitId } from "./suffixes.ts";
import { partsOfName, withoutRelease } from "./vendor-names.ts";

/** The meaning of a client's name for a model. */
export interface FoundModel {
  readonly model: BaseModel;
  /** The variant for everything that the name leaves open. */
  readonly start: Variant;
  readonly named: Settings;
  readonly isMaxMode: boolean;
}

/** All names of models, without suffixes. */
export interface NameIndex {
  readonly exact: ReadonlyMap<string, FoundModel>;
  /** By the words of the name in any order. Ambiguous ones are left out. */
  readonly byParts: ReadonlyMap<string, FoundModel>;
}

export function indexNames(models: readonly BaseModel[]): NameIndex {
  const index = new Map<string, FoundModel>();
  const add = (name: string, found: FoundModel) => {
    const key = name.toLowerCase();
    if (!index.has(key)) index.set(key, found);
  };
  const plain = (model: BaseModel, start: Variant) => ({ model, start, named: NOTHING, isMaxMode: start.isMaxMode });
  // An id of the flat list takes precedence over a base id, and both over aliases.
  for (const model of models) {
    for (const [id, { variant, named }] of model.wireIds) {
      add(id, { model, start: variant, named, isMaxMode: variant.isMaxMode });
    }
  }
  for (const model of models) {
    for (const id of [model.id, model.displayId]) add(id, plain(model, model.variants[0]));
  }
  for (const model of models) {
    for (const [alias, variant] of model.aliases) add(alias, plain(model, variant));
  }
  return { exact: index, byParts: indexParts(models, plain) };
}

function indexParts(
  models: readonly BaseModel[],
  plain: (model: BaseModel, start: Variant) => FoundModel,
): ReadonlyMap<string, FoundModel> {
  const byParts = Map.groupBy(models, ({ displayId }) => partsOfName(displayId.toLowerCase()));
  return new Map(
    [...byParts].flatMap(([parts, [model, ...others]]) =>
      model && others.length === 0 ? [[parts, plain(model, model.variants[0])] as const] : [],
    ),
  );
}

const NOTHING: Settings = new Map();
const MAX_NAME_LENGTH = 200;

/**
 * Finds a model by a base id, an alias or an id of the flat list, with the suffixes that the model has or with
 * brackets. Falls back to the vendor's spelling. Throws if the model does not support a bracket.
 */
export function findModel(index: NameIndex, name: string): FoundModel | undefined {
  const id = name.trim().toLowerCase();
  if (id.length > MAX_NAME_LENGTH) return undefined;
  const { base, brackets } = splitBrackets(id);
  const found =
    index.exact.get(base) ??
    findSuffixed(base, (name) => index.exact.get(name)) ??
    findByParts(index, withoutRelease(base));
  return found && brackets !== undefined ? withBrackets(found, readBrackets(brackets, found.model)) : found;
}

function findByParts({ byParts }: NameIndex, id: string): FoundModel | undefined {
  const find = (name: string) => byParts.get(partsOfName(name));
  return find(id) ?? findSuffixed(id, find);
}

function findSuffixed(id: string, find: (name: string) => FoundModel | undefined): FoundModel | undefined {
  for (const { base, readings } of splitId(id)) {
    if (base === id) continue;
    const found = find(base);
    // A name that already has suffixes takes no more.
    if (!found || found.named.size > 0) continue;
    for (const reading of readings) {
      const suffixed = withSuffixes(found.model, reading);
      if (suffixed) return suffixed;
    }
  }
  return undefined;
}

function withSuffixes(model: BaseModel, suffixes: Suffixes): FoundModel | undefined {
  if (suffixes.isMaxMode && model.maxModeContextTokens === undefined) return undefined;
  const named = namedSettings(model.offered, suffixes);
  const [start] = model.variants;
  return named && { model, start, named, isMaxMode: suffixes.isMaxMode || start.isMaxMode };
}

function withBrackets(found: FoundModel, { settings, isMaxMode }: Brackets): FoundModel {
  return {
    ...found,
    named: new Map([...found.named, ...settings]),
    isMaxMode: isMaxMode ?? found.isMaxMode,
  };
}
