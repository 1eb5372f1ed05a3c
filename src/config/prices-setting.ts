import { z } from "zod";
import { jsonOrText, type Setting } from "./setting.ts";

/** US dollars for a million tokens. What is unset costs as much as `input`, or `output` for reasoning. */
export type PriceList = Readonly<
  Record<
    string,
    {
      readonly input: number;
      readonly output: number;
      readonly cached?: number | undefined;
      readonly cacheWritten?: number | undefined;
      readonly reasoning?: number | undefined;
    }
  >
>;

const dollars = z.number({ error: "expected dollars for a million tokens" }).min(0).max(1_000_000);

const schema = z.record(
  z.string().regex(/^[^*\s]{1,255}\*?$/, { error: 'expected a model, with a "*" at its end or none' }),
  z.strictObject({
    input: dollars,
    output: dollars,
    cached: dollars.optional(),
    cacheWritten: dollars.optional(),
    reasoning: dollars.optional(),
  }),
);

/** The setting `prices`. As text: JSON as in the file. */
export const priceList = (help: string): Setting<PriceList> => ({
  schema,
  fallback: {},
  help,
  expected: 'models, each with prices for a million tokens: {"input": 3, "output": 15}',
  isSecret: false,
  explain: ({ issues: [issue] }) => `${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
  fromText: jsonOrText,
});
