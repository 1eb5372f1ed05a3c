import { z } from "zod";
import type { Setting } from "./setting.ts";

const TEXTS: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false };

/** Creates the setting `capture`: a file, or `true` for a new file in the home folder. */
export function captureSetting(help: string): Setting<string | boolean | undefined> {
  return {
    schema: z.union([z.boolean(), z.string().min(1)]).optional(),
    fallback: undefined,
    help,
    expected: "true, false, or the path of a new file",
    isSecret: false,
    fromText: (given) => TEXTS[given.trim().toLowerCase()] ?? given,
  };
}
