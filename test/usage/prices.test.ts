import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import type { Usage } from "../../src/core/events.ts";
import { PRICE_LIST, Prices } from "../../src/usage/prices.ts";

const MTOK = 1_000_000;

const usage = (over: Partial<Usage>): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: false,
  ...over,
});

describe("prices", () => {
  it("name the version of the installed list", () => {
    const main = createRequire(import.meta.url).resolve("@pydantic/genai-prices");
    const { version } = JSON.parse(readFileSync(main.replace(/dist\/.*$/, "package.json"), "utf8")) as {
      version: string;
    };
    expect(PRICE_LIST.version).toBe(version);
  });

  it("take the user's own first, each kind of token by its price", () => {
    const own = { input: 2, output: 10, cached: 0.5, cacheWritten: 3, reasoning: 20 };
    const prices = new Prices({ "gpt-*": own });
    const spent = usage({
      inputTokens: 10,
      cachedTokens: 4,
      cacheWrittenTokens: 1,
      outputTokens: 8,
      reasoningTokens: 3,
    });
    expect(prices.costOf(spent, "gpt-5.5", "openai")).toEqual({
      micros: 5 * 2 + 4 * 0.5 + 3 + 5 * 10 + 3 * 20,
      isEstimate: false,
      source: "settings",
    });
    expect(new Prices({ "gpt-5.5": { input: 1, output: 2 } }).costOf(spent, "gpt-5.5", "openai")?.micros).toBe(26);
  });

  it("come from the list, with cached, cache-written and tiered ones, and say so", () => {
    const prices = new Prices();
    const micros = (over: Partial<Usage>) => prices.costOf(usage(over), "claude-sonnet-4-5", "anthropic")?.micros;
    const fresh = micros({ inputTokens: 1000 }) ?? 0;
    expect(fresh).toBe(3000);
    expect(micros({ inputTokens: 1000, cachedTokens: 1000 })).toBe(fresh / 10);
    expect(micros({ inputTokens: 1000, cacheWrittenTokens: 1000 })).toBe(fresh * 1.25);
    expect(micros({ inputTokens: MTOK })).toBe(6 * MTOK);
    expect(prices.costOf(usage({}), "claude-sonnet-4-5", "anthropic")?.source).toMatch(/^genai-prices .*\(20\d\d-/);
  });

  it.each([
    ["claude-4.5-sonnet-thinking", "claude-sonnet-4-5"],
    ["claude-4.6-opus-high-thinking", "claude-opus-4-6"],
    ["gpt-5.5-high", "gpt-5.5"],
    ["local/gpt-5.5", "gpt-5.5"],
    ["gpt-5.5[effort=high]", "gpt-5.5"],
  ])("know %s as %s", (model, known) => {
    const prices = new Prices();
    const spent = usage({ inputTokens: 1000, outputTokens: 100 });
    expect(prices.costOf(spent, model, "openai")).toEqual(prices.costOf(spent, known, "openai"));
    expect(prices.has(model, "openai")).toBe(true);
  });

  it("are unknown for models that no list has", () => {
    expect(new Prices().costOf(usage({ inputTokens: 5 }), "my-own-llama", "openai")).toBeUndefined();
    expect(new Prices().has("my-own-llama", "openai")).toBe(false);
  });

  it("are an estimate if the tokens are, and for Cursor, which charges by rules of its own", () => {
    const prices = new Prices();
    const isEstimate = (driver: string, over: Partial<Usage> = {}) =>
      prices.costOf(usage({ inputTokens: 5, ...over }), "gpt-5.5", driver)?.isEstimate;
    expect([isEstimate("openai"), isEstimate("openai", { isEstimate: true }), isEstimate("cursor")]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("give back what a correction takes back", () => {
    const prices = new Prices();
    const micros = (inputTokens: number) => prices.costOf(usage({ inputTokens }), "gpt-5.5", "openai")?.micros ?? 0;
    expect(micros(-2000)).toBe(-micros(2000));
  });
});
