import { effortRank, isEffortParameter } from "../../../core/models/effort.ts";
import type { ModelParameter } from "./model.ts";
import type { Suffixes } from "./suffixes.ts";

/** A model and all that can be set of it. */
export interface BaseModel {
  readonly id: string;
  readonly displayId: string;
  readonly displayName: string;
  /** Other names, each for the variant that it was given to. */
  readonly aliases: ReadonlyMap<string, Variant>;
  readonly contextTokens: number;
  readonly maxModeContextTokens: number | undefined;
  /** It cannot do without. */
  readonly needsMaxMode: boolean;
  readonly supportsImages: boolean;
  readonly isThinking: boolean;
  /** The default first. */
  readonly variants: readonly [Variant, ...Variant[]];
  /** The values that each of its parameters can have. */
  readonly offered: Offer;
  /** The backend listed the parameters; otherwise they are read off the ids, and only ids can be sent. */
  readonly hasParameters: boolean;
  /** Each id of the flat list that is one of its variants. */
  readonly wireIds: ReadonlyMap<string, NamedVariant>;
}

export interface NamedVariant {
  readonly variant: Variant;
  /** What the id says in so many words, as against what it leaves to the default. */
  readonly named: Settings;
}

/** One offered combination of a model's parameters. */
export interface Variant {
  /** In the backend's order. */
  readonly parameters: readonly ModelParameter[];
  readonly isMaxMode: boolean;
  /** Its own id on the wire, if it has one. */
  readonly wire: WireName | undefined;
}

export interface WireName {
  readonly modelId: string;
  readonly displayModelId: string;
  readonly displayName: string;
}

/** Values by the id of their parameter. */
export type Settings = ReadonlyMap<string, string>;

export type Offer = ReadonlyMap<string, readonly string[]>;

export const parameterValue = ({ parameters }: Variant, id: string): string | undefined =>
  parameters.find((parameter) => parameter.id === id)?.value;

export const settingsOf = (parameters: readonly ModelParameter[]): Settings =>
  new Map(parameters.map(({ id, value }) => [id, value]));

/** The values that each parameter of these variants can have, in the order of their first mention. */
export function offeredValues(variants: readonly Variant[]): Offer {
  const offered = new Map<string, string[]>();
  for (const { id, value } of variants.flatMap((variant) => variant.parameters)) {
    const values = offered.get(id) ?? [];
    if (!values.includes(value)) offered.set(id, [...values, value]);
  }
  return offered;
}

/** Suffixes as settings of a model with this offer; undefined if it has no such setting. */
export function namedSettings(offered: Offer, suffixes: Suffixes): Settings | undefined {
  const named = new Map<string, string>();
  if (suffixes.effort !== undefined) {
    const parameter = [...offered].find(([id]) => isEffortParameter(id));
    const rank = effortRank(suffixes.effort);
    const value = parameter?.[1].find((offer) => effortRank(offer) === rank);
    if (!parameter || value === undefined) return undefined;
    named.set(parameter[0], value);
  }
  for (const [id, isSet] of [["thinking", suffixes.isThinking] as const, ["fast", suffixes.isFast] as const]) {
    if (!isSet) continue;
    if (!offered.get(id)?.includes("true")) return undefined;
    named.set(id, "true");
  }
  return named;
}
