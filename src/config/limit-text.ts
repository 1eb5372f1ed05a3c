import { z } from "zod";
import { LIMIT_EXPECTED, limitFault } from "../core/limits/limit.ts";
import { list, type Setting } from "./setting.ts";

/** A limit as users write it, such as `$5/day`. The message of an error says what to write instead. */
export const LimitTextSchema = z
  .string()
  .refine((text) => limitFault(text) === undefined, { error: ({ input }) => limitFault(String(input)) });

/** Creates a setting with a list of limits. */
export function limitList(help: string): Setting<readonly string[]> {
  const base = list(help, `limits ${LIMIT_EXPECTED}`, /./);
  return {
    ...base,
    schema: z.array(LimitTextSchema),
    explain({ issues }) {
      const wrong = issues.find(({ code }) => code === "custom");
      return wrong ? `limit ${Number(wrong.path[0]) + 1}: ${wrong.message}` : `expected ${base.expected}`;
    },
  };
}
