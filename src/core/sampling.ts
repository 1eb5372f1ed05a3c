/** What may be said of how the next token is chosen, by the names that the public dialects share. */
export const SAMPLING_NAMES = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "repetition_penalty",
] as const;

export type SamplingName = (typeof SAMPLING_NAMES)[number];

/** Some of them, with their values. */
export type Sampling = { readonly [Name in SamplingName]?: number };

export const samplingNames = (sampling: Sampling = {}): readonly SamplingName[] =>
  SAMPLING_NAMES.filter((name) => sampling[name] !== undefined);

/** Those of these names, and the names of the others. */
export function pickSampling(
  sampling: Sampling = {},
  taken: readonly SamplingName[],
): { readonly fields: Sampling; readonly ignored: readonly SamplingName[] } {
  const names = samplingNames(sampling);
  return {
    fields: Object.fromEntries(names.filter((name) => taken.includes(name)).map((name) => [name, sampling[name]])),
    ignored: names.filter((name) => !taken.includes(name)),
  };
}
