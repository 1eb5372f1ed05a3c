/** The sampling options, by the names that the public APIs share. */
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

export type Sampling = { readonly [Name in SamplingName]?: number };

export const samplingNames = (sampling: Sampling = {}): readonly SamplingName[] =>
  SAMPLING_NAMES.filter((name) => sampling[name] !== undefined);

/** Splits sampling options into supported ones, with their values, and the names of unsupported ones. */
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
