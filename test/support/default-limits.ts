import { FIXED_LIMITS, LIMIT_SETTINGS, type Limits } from "../../src/config/limits.ts";

const chosen = Object.entries(LIMIT_SETTINGS).map(([name, { fallback }]) => [name, fallback]);

/** The limits of a gateway without settings. */
export const DEFAULT_LIMITS = { ...Object.fromEntries(chosen), ...FIXED_LIMITS } as Limits;
