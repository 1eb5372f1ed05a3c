import { pickSampling, type Sampling, type SamplingName } from "../../core/sampling.ts";

/** The least `top_p` that is taken while the model thinks. */
const LEAST_THINKING_TOP_P = 0.95;

/**
 * How the next token is chosen, as far as this API can be told. A model that thinks takes next to nothing of it, and one
 * that does not takes either a temperature or a `top_p`. A temperature here is at most 1.
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
  // Which is what it is at, then.
  return { fields, ignored: ignored.filter((name) => !(isThinking && name === "temperature" && temperature === 1)) };
}
