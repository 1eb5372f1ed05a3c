import { SAMPLING_NAMES, type Sampling } from "../../core/sampling.ts";

type Given = { readonly [Name in keyof Sampling]?: number | null | undefined };

export function readSampling(request: Given): { readonly sampling?: Sampling } {
  const given = SAMPLING_NAMES.flatMap((name) => {
    const value = request[name];
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  return given.length === 0 ? {} : { sampling: Object.fromEntries(given) };
}
