import { describe, expect, it } from "vitest";
import { isPublicName, nearestModel } from "../../../src/app/models/nearest-model.ts";

const ACCOUNT = [
  "auto",
  "composer-2.5",
  "claude-opus-4-8",
  "claude-sonnet-5",
  "claude-4.5-sonnet",
  "gpt-5.5",
  "gpt-5.4-mini",
  "gpt-5.1-codex-max",
  "gemini-3.1-pro",
  "glm-5.2",
  "grok-code-fast-1",
];

describe("the model that comes closest to a public name", () => {
  it.each([
    ["gpt-4o", "gpt-5.5"],
    ["gpt-4", "gpt-5.5"],
    ["gpt-4-0613", "gpt-5.5"],
    ["gpt-4-1106-preview", "gpt-5.5"],
    ["gpt-4-turbo-2024-04-09", "gpt-5.5"],
    ["gpt-4o-2024-08-06", "gpt-5.5"],
    ["openai/gpt-4.1", "gpt-5.5"],
    ["chatgpt-4o-latest", "gpt-5.5"],
    ["gpt-4o-mini", "gpt-5.4-mini"],
    ["gpt-4.1-nano", "gpt-5.4-mini"],
    ["gpt-3.5-turbo", "gpt-5.4-mini"],
    ["gpt-3.5-turbo-16k", "gpt-5.4-mini"],
    ["gpt-5-codex", "gpt-5.1-codex-max"],
    ["o1", "gpt-5.5"],
    ["o1-preview", "gpt-5.5"],
    ["o3-mini", "gpt-5.4-mini"],
    ["o4-mini-2025-04-16", "gpt-5.4-mini"],
    ["claude-3-5-sonnet-20241022", "claude-4.5-sonnet"],
    ["claude-3-5-sonnet-latest", "claude-4.5-sonnet"],
    ["claude-3-5-sonnet@20241022", "claude-4.5-sonnet"],
    ["us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-4.5-sonnet"],
    ["claude-3-7-sonnet-20250219", "claude-4.5-sonnet"],
    ["anthropic/claude-3-opus", "claude-opus-4-8"],
    ["claude-opus-4-20250514", "claude-opus-4-8"],
    ["claude-3-haiku-20240307", "claude-4.5-sonnet"],
    ["claude-2.1", "claude-4.5-sonnet"],
    ["claude-instant-1.2", "claude-4.5-sonnet"],
    ["gemini-1.5-flash", "gemini-3.1-pro"],
    ["models/gemini-2.5-pro-preview-05-06", "gemini-3.1-pro"],
    ["gemini-pro", "gemini-3.1-pro"],
    ["grok-1", "grok-code-fast-1"],
    ["gpt-35-turbo", "gpt-5.4-mini"],
    ["gpt-4o-high", "gpt-5.5"],
    ["gpt-4o[effort=high]", "gpt-5.5"],
    ["claude-3-7-sonnet-20250219-thinking", "claude-4.5-sonnet"],
    ["composer-1", "composer-2.5"],
  ])("%s: %s", (name, expected) => {
    expect(nearestModel(name, ACCOUNT)).toBe(expected);
  });

  it.each(["gpt-5.6", "gpt-9", "claude-sonnet-9", "grok-2-latest", "composer-9"])(
    "%s is newer than the family: none",
    (name) => {
      expect(nearestModel(name, ACCOUNT)).toBeUndefined();
    },
  );

  it("4.10 is newer than 4.8", () => {
    expect(nearestModel("claude-opus-4-10", ["claude-opus-4-8"])).toBeUndefined();
    expect(nearestModel("claude-opus-4-9", ["claude-opus-4-10"])).toBe("claude-opus-4-10");
  });

  it("is Cursor's own choice for a family that the account has nothing of", () => {
    expect(nearestModel("gpt-4o", ["auto", "claude-sonnet-5"])).toBe("auto");
    expect(nearestModel("gpt-4o", ["claude-sonnet-5"])).toBeUndefined();
    expect(nearestModel("gpt-4o", [])).toBeUndefined();
  });

  it.each([
    "gpt-5-banana",

    "gpt",
    "gpt5.5x",
    "claude-sonet-4",
    "clod",
    "llama-3",
    "x",
    "",
    "o5",
    "g".repeat(500),
  ])("%j resembles no public name", (name) => {
    expect(isPublicName(name)).toBe(false);
    expect(nearestModel(name, ACCOUNT)).toBeUndefined();
  });
});
