import { type BaseModel, namedSettings, type Settings, type Variant } from "./base-model.ts";
import { type Brackets, readBrackets, splitBrackets } from "./brackets.ts";
import { type Suffixes, splitId } from "./suffixes.ts";
import { partsOfName, withoutRelease } from "./vendor-names.ts";

/** What a client's name for a model says. */
export interface FoundModel {
  readonly model: BaseModel;
  /** What it means as far as it names nothing. */
  readonly start: Variant;
  readonly named: Settings;
  readonly isMaxMode: boolean;
}

/** Everything that a model can be called without suffixes of our own reading. */
export interface NameIndex {
  readonly exact: ReadonlyMap<string, FoundModel>;
  /** By what a name says apart from how it is put; not where that could be several. */
  readonly byParts: ReadonlyMap<string, FoundModel>;
}

export function indexNames(models: readonly BaseModel[]): NameIndex {
  const index = new Map<string, FoundModel>();
  const add = (name: string, found: FoundModel) => {
    const key = name.toLowerCase();
    if (!index.has(key)) index.set(key, found);
  };
  const plain = (model: BaseModel, start: Variant) => ({ model, start, named: NOTHING, isMaxMode: start.isMaxMode });
  // A base id that is in the flat list too means what it means there; and no alias hides an id.
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
 * The model of this name: a base id, an alias, an id of the flat list, any of them with suffixes of the grammar that
 * the model has, or with parameters in brackets; else, what its vendor would call so. Throws for brackets that the model does not understand.
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
    // The suffixes are all at the end: what has some already takes no more.
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
