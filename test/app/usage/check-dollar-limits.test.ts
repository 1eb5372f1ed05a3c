import { describe, expect, it } from "vitest";
import { checkDollarLimits, type DollarLimitCheck } from "../../../src/app/usage/check-dollar-limits.ts";

const LOCAL = { driver: "openai", baseURL: "http://127.0.0.1:11434/v1" };

const check = (config: Partial<DollarLimitCheck["config"]>, limits: readonly string[], isOwners = false) =>
  checkDollarLimits({ config: { models: {}, agents: {}, prices: {}, ...config }, limits, isOwners });

describe("a limit in dollars", () => {
  it.each([
    ["of an entry", { models: { "my-llama": LOCAL } }, "my-llama"],
    ["of an entry that names a driver", { models: { "my-embedder": "openai" } }, "my-embedder"],
    ["of a pattern with one model", { models: { "local/*": { ...LOCAL, model: "llama" } } }, "local/llama"],
  ])("is refused for a model %s that has no price", (_, config, model) => {
    expect(() => check(config, ["60 requests/minute", "$5/day"])).toThrowError(
      expect.objectContaining({
        code: "no_price",
        message: expect.stringContaining(`the model ${model} has no price`),
      }),
    );
    const hint = expect.stringContaining("`prices`");
    expect(() => check(config, ["$5/day"])).toThrowError(expect.objectContaining({ hint }));
    expect(() => check(config, ["500 tokens/day"])).not.toThrow();
    expect(() => check({ ...config, prices: { [model]: { input: 0, output: 0 } } }, ["$5/day"])).not.toThrow();
  });

  it.each([
    ["models of the price list", { "gpt-4o": "openai" }],
    ["aliases", { fast: "unheard-of" }],
    ["Cursor's models", { fast: { driver: "cursor", model: "unheard-of" } }],
    ["patterns, whose models become known later", { "local/*": LOCAL }],
    ["the fallback", { "*": "unheard-of" }],
  ])("holds %s", (_, models) => expect(() => check({ models }, ["$5/day"], true)).not.toThrow());

  it("is refused for agents where the gateway's own key has it: other keys cannot use them", () => {
    const config = { agents: { helper: { command: "agent" } } };
    expect(() => check(config, ["$5/day"], true)).toThrow("the model acp:helper has no price");
    expect(() => check(config, ["$5/day"], false)).not.toThrow();
    expect(() => check({ ...config, prices: { "acp:*": { input: 0, output: 0 } } }, ["$5/day"], true)).not.toThrow();
  });
});
