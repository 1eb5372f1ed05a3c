import { createRequire } from "node:module";
import type { calcPrice } from "@pydantic/genai-prices";
import { BoundedMap } from "../core/bounded-map.ts";
import type { Usage } from "../core/events.ts";
import { closestPattern } from "../core/models/model-pattern.ts";
import { NO_USAGE } from "../core/rules/usage-estimate.ts";
import type { Cost, RequestRecord } from "./record/records.ts";

/** US dollars for a million tokens, for models of the user's choice. */
export type OwnPrices = Readonly<
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

/** The version of the price list, and when it was published. A test holds it to the installed package. */
export const PRICE_LIST = { version: "0.1.8", date: "2026-09-23" } as const;

const LIST_SOURCE = `genai-prices ${PRICE_LIST.version} (${PRICE_LIST.date})`;
const OWN_SOURCE = "settings";

const MAX_NAMES = 1000;

/** Tokens by what they cost: each token is in one of these. */
interface Parts {
  readonly fresh: number;
  readonly cached: number;
  readonly written: number;
  readonly spoken: number;
  readonly reasoning: number;
}

/** Prices of models: the user's own first, then those of the package. */
export class Prices {
  readonly #own: OwnPrices;
  readonly #names = new BoundedMap<string, string | undefined>(MAX_NAMES);
  #calculate: typeof calcPrice | undefined;

  constructor(own: OwnPrices = {}) {
    this.#own = own;
  }

  /** Loads the price list, which takes a moment; otherwise the first question does. */
  load(): typeof calcPrice {
    if (this.#calculate) return this.#calculate;
    const list = createRequire(import.meta.url)("@pydantic/genai-prices") as { readonly calcPrice: typeof calcPrice };
    this.#calculate = list.calcPrice;
    return list.calcPrice;
  }

  /** Returns whether there is a price for a model. */
  has(model: string, driver: string | undefined): boolean {
    return this.costOf(NO_USAGE, model, driver) !== undefined;
  }

  /** Returns what the tokens cost; undefined if there is no price. */
  costOf(usage: Usage, model: string, driver: string | undefined): Cost | undefined {
    const parts = partsOf(usage);
    // Figures that correct earlier estimates may be negative.
    const positive = mapParts(parts, (tokens) => Math.max(0, tokens));
    const negative = mapParts(parts, (tokens) => Math.max(0, -tokens));
    // What Cursor charges is not what the price list says.
    const isEstimate = usage.isEstimate || (driver ?? "").startsWith("cursor");
    const own = this.#own[closestPattern(Object.keys(this.#own), model) ?? ""];
    if (own) {
      const { input, output, cached = input, cacheWritten = input, reasoning = output } = own;
      const { fresh, cached: read, written, spoken, reasoning: thought } = parts;
      const micros = fresh * input + read * cached + written * cacheWritten + spoken * output + thought * reasoning;
      return { micros: Math.round(micros), isEstimate, source: OWN_SOURCE };
    }
    const credit = this.#listed(positive, model);
    const debit = Object.values(negative).some((tokens) => tokens > 0) ? this.#listed(negative, model) : 0;
    if (credit === undefined || debit === undefined) return undefined;
    return { micros: Math.round((credit - debit) * 1e6), isEstimate, source: LIST_SOURCE };
  }

  /** Returns a record with its cost, if it has used anything that has a price. */
  addCost(record: RequestRecord): RequestRecord {
    const { usage, modelServed, driver } = record;
    return usage && modelServed !== undefined ? { ...record, cost: this.costOf(usage, modelServed, driver) } : record;
  }

  /** Returns the name of a model in the list; undefined if it has none. The search costs more than the sum. */
  #nameOf(model: string, calculate: typeof calcPrice): string | undefined {
    if (!this.#names.has(model)) {
      this.#names.set(
        model,
        namesOf(model).find((name) => calculate({ input_tokens: 0 }, name)),
      );
    }
    return this.#names.get(model);
  }

  #listed({ fresh, cached, written, spoken, reasoning }: Parts, model: string): number | undefined {
    const usage = {
      input_tokens: fresh + cached + written,
      cache_read_tokens: cached,
      cache_write_tokens: written,
      output_tokens: spoken + reasoning,
    };
    const calculate = this.load();
    const name = this.#nameOf(model, calculate);
    return name === undefined ? undefined : calculate(usage, name)?.total_price;
  }
}

const partsOf = ({ inputTokens, outputTokens, cachedTokens, cacheWrittenTokens, reasoningTokens }: Usage): Parts => ({
  fresh: inputTokens - cachedTokens - cacheWrittenTokens,
  cached: cachedTokens,
  written: cacheWrittenTokens,
  spoken: outputTokens - reasoningTokens,
  reasoning: reasoningTokens,
});

const mapParts = (parts: Parts, change: (tokens: number) => number): Parts => ({
  fresh: change(parts.fresh),
  cached: change(parts.cached),
  written: change(parts.written),
  spoken: change(parts.spoken),
  reasoning: change(parts.reasoning),
});

const SUFFIX = /-(?:none|minimal|low|medium|high|xhigh|extra-high|max|thinking)$/;

/**
 * Returns the names under which a model may be in the price list: as it is, without the upstream's prefix, and without
 * Cursor's suffixes for effort. Cursor writes `claude-4.5-sonnet` where others write `claude-sonnet-4-5`. Fast variants
 * have prices of their own, so the suffix `-fast` stays.
 */
function namesOf(model: string): readonly string[] {
  const names = [model];
  let [name = ""] = model.slice(model.lastIndexOf("/") + 1).split("[", 1);
  names.push(name);
  while (SUFFIX.test(name)) {
    name = name.replace(SUFFIX, "");
    names.push(name);
  }
  const [, version = "", family] = /^claude-(\d+(?:\.\d+)?)-(opus|sonnet|haiku)$/.exec(name) ?? [];
  if (family !== undefined) names.push(`claude-${family}-${version.replace(".", "-")}`);
  return [...new Set(names)];
}
