import { z } from "zod";
import { jsonOrText, type Setting } from "./setting.ts";

/** Whether the bridge for the IDE listens, and to whom. */
export interface BridgeSetting {
  readonly listens: boolean;
  /** True if pages of the editor itself need no key. Undefined: not set here. */
  readonly compat?: boolean | undefined;
}

const schema = z
  .union([
    z.boolean().transform((listens): BridgeSetting => ({ listens })),
    z.strictObject({ compat: z.boolean().optional() }).transform(({ compat }) => ({ listens: true, compat })),
  ])
  .optional();

const TEXTS: Readonly<Record<string, unknown>> = {
  true: true,
  "1": true,
  false: false,
  "0": false,
  compat: { compat: true },
};

/**
 * Creates the setting `bridge`: `true`, `false` or an object; as text also `compat`. The flag `--bridge` keeps the
 * `compat` of the environment or the file.
 */
export function bridgeSetting(help: string): Setting<BridgeSetting | undefined> {
  return {
    schema,
    fallback: undefined,
    help,
    expected: 'true, false, or { "compat": true } (in the environment: compat)',
    isSecret: false,
    fromText: (given) => TEXTS[given.trim().toLowerCase()] ?? jsonOrText(given),
    combine: ([first, ...others]) =>
      first && { ...first, compat: [first, ...others].find((one) => one?.compat !== undefined)?.compat },
  };
}
