import { effortRank, isEffortParameter } from "../../../core/models/effort.ts";
import type { ModelParameter } from "./model.ts";
import type { Suffixes } from "./suffixes.ts";

export interface BaseModel {
  readonly id: string;
  readonly displayId: string;
  readonly displayName: string;
  /** Other names, each of them for a variant. */
  readonly aliases: ReadonlyMap<string, Variant>;
  readonly contextTokens: number;
  readonly maxModeContextTokens: number | undefined;
  /** True if it works only in max mode. */
  readonly needsMaxMode: boolean;
  readonly supportsImages: boolean;
  readonly isThinking: boolean;
  /** The default comes first. */
  readonly variants: readonly [Variant, ...Variant[]];
  readonly offered: Offer;
  /** True if the backend listed the parameters. Otherwise they are inferred from ids, and only ids can be sent. */
  readonly hasParameters: boolean;
  /** The ids of the flat list that are variants of this model. */
  readonly wireIds: ReadonlyMap<string, NamedVariant>;
}

export interface NamedVariant {
  readonly variant: Variant;
  /** The settings that the id names explicitly. */
  readonly named: Settings;
}

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

/** Values by parameter id. */
export type Settings = ReadonlyMap<string, string>;

export type Offer = ReadonlyMap<string, readonly string[]>;

export const parameterValue = ({ parameters }: Variant, id: string): string | undefined =>
  parameters.find((parameter) => parameter.id === id)?.value;

export const settingsOf = (parameters: readonly ModelParameter[]): Settings =>
  new Map(parameters.map(({ id, value }) => [id, value]));

/** Returns the possible values of each parameter, in order of appearance. */
export function offeredValues(variants: readonly Variant[]): Offer {
  const offered = new Map<string, string[]>();
  for (const { id, value } of variants.flatMap((variant) => variant.parameters)) {
    const values = offered.get(id) ?? [];
    if (!values.includes(value)) offered.set(id, [...values, value]);
  }
  return offered;
}

/** Converts suffixes to settings. Returns undefined if the model does not offer one of them. */
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
