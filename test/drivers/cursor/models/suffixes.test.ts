import { describe, expect, test } from "vitest";
import { inferBases } from "../../../../src/drivers/cursor/models/infer-bases.ts";
import { readSuffixes } from "../../../../src/drivers/cursor/models/suffixes.ts";

const brief = (text: string) =>
  readSuffixes(text).map(({ effort = "", isThinking, isFast, isMaxMode }) =>
    [effort, isThinking && "thinking", isFast && "fast", isMaxMode && "MAX"].filter(Boolean).join(" "),
  );

describe("readSuffixes", () => {
  test.each([
    ["", [""]],
    ["-high", ["high"]],
    ["-extra-high-fast", ["extra-high fast"]],
    ["-thinking-high-fast", ["high thinking fast"]],
    ["-high-thinking", ["high thinking"]],
    ["-max", ["max", "MAX"]],
    ["-max-thinking", ["max thinking"]],
    ["-thinking-max", ["max thinking", "thinking MAX"]],
    ["-high-max", ["high MAX"]],
    ["-max-max", ["max MAX"]],
    ["-fast-max", ["fast MAX", "fast MAX"]],
    ["-high-low", []],
    ["-low-thinking-high", []],
    ["-fast-high", []],
    ["-mini", []],
    ["high", []],
  ])("%j", (text, readings) => {
    expect(brief(text)).toEqual(readings);
  });
});

describe("inferBases", () => {
  test.each([
    ["composer-2.5-fast", "composer-2.5"],
    ["claude-4.6-opus-max-thinking", "claude-4.6-opus"],
    ["gpt-5.1-codex-max", "gpt-5.1-codex-max"],
    ["gpt-5.1-codex-max-high", "gpt-5.1-codex-max"],
    ["gpt-5.1-codex", "gpt-5.1-codex"],
    ["gpt-5.1-codex-low", "gpt-5.1-codex"],
    ["gpt-5.6-sol-max-fast", "gpt-5.6-sol"],
    ["kimi-k3-max", "kimi-k3"],
    ["grok-code-fast-1", "grok-code-fast-1"],
    ["alone-fast", "alone-fast"],
  ])("%s belongs to %s", (id, base) => {
    const ids = [
      ...["composer-2.5", "composer-2.5-fast", "claude-4.6-opus-high", "claude-4.6-opus-max-thinking"],
      ...["gpt-5.1-codex", "gpt-5.1-codex-low", "gpt-5.1-codex-max", "gpt-5.1-codex-max-high"],
      ...["gpt-5.6-sol-none", "gpt-5.6-sol-max-fast", "kimi-k3-low", "kimi-k3-max", "grok-code-fast-1", "alone-fast"],
    ];
    expect(inferBases(ids).get(id)?.base).toBe(base);
  });
});
