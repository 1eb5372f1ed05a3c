import { pickSampling, type Sampling, type SamplingName } from "../../core/sampling.ts";

/** The smallest `top_p` that the API accepts with thinking. */
const LEAST_THINKING_TOP_P = 0.95;

/**
 * Selects the sampling options that the API accepts. With thinking these are almost none; without it, either
 * `temperature` or `top_p`. The temperature is at most 1.
 */
export function planSampling(
  sampling: Sampling = {},
  isThinking: boolean,
): { readonly fields: Sampling; readonly ignored: readonly SamplingName[] } {
  const { temperature, top_p = 0 } = sampling;
  const taken = ((): readonly SamplingName[] => {
    if (isThinking) return top_p >= LEAST_THINKING_TOP_P ? ["top_p"] : [];
    return temperature === undefined ? ["top_p", "top_k"] : ["temperature", "top_k"];
  })();
  const { fields, ignored } = pickSampling(sampling, taken);
  const isTooWarm = fields.temperature !== undefined && fields.temperature > 1;
  if (isTooWarm) return { fields: { ...fields, temperature: 1 }, ignored: ["temperature", ...ignored] };
  // With thinking the temperature is 1 anyway, so 1 is not ignored.
  return { fields, ignored: ignored.filter((name) => !(isThinking && name === "temperature" && temperature === 1)) };
}
