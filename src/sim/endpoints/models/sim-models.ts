export interface ParameterValue {
  readonly id: string;
  readonly value: string;
}

/** A parameter of a model. Each value adds its suffix to the id on the wire. */
export interface ModelParameter {
  readonly id: string;
  readonly displayName: string;
  readonly values: readonly {
    readonly value: string;
    readonly suffix: string;
    /** Empty if the value does not show in the model's name. */
    readonly label: string;
  }[];
  readonly defaultValue: string;
}

export interface SimModel {
  readonly id: string;
  readonly displayName: string;
  readonly shortName: string;
  readonly description: string;
  readonly aliases: readonly string[];
  readonly contextTokens: number;
  /** Only if the model has a max mode. */
  readonly maxModeContextTokens?: number;
  readonly supportsImages: boolean;
  /** Whether it thinks: never, always, or unless a parameter has this value. */
  readonly thinking: "never" | "always" | { readonly unless: ParameterValue };
  /** In the order of their suffixes. */
  readonly parameters: readonly ModelParameter[];
}

const THINKING: ModelParameter = {
  id: "thinking",
  displayName: "Thinking",
  values: [
    { value: "false", suffix: "", label: "" },
    { value: "true", suffix: "-thinking", label: "Thinking" },
  ],
  defaultValue: "true",
};

const FAST: ModelParameter = {
  id: "fast",
  displayName: "Fast",
  values: [
    { value: "false", suffix: "", label: "" },
    { value: "true", suffix: "-fast", label: "Fast" },
  ],
  defaultValue: "false",
};

const LEVELS = {
  none: "None",
  low: "Low",
  medium: "Medium",
  high: "High",
  xhigh: "Extra High",
  "extra-high": "Extra High",
  max: "Max",
} as const;

type Level = keyof typeof LEVELS;

/** Creates a parameter with levels. Claude and GLM name it `effort`, GPT `reasoning`. */
const levels = (id: "effort" | "reasoning", values: readonly Level[], defaultValue: Level): ModelParameter => ({
  id,
  displayName: id === "effort" ? "Effort" : "Reasoning",
  values: values.map((value) => ({ value, suffix: `-${value}`, label: LEVELS[value] })),
  defaultValue,
});

const NO_THINKING = { unless: { id: "thinking", value: "false" } } as const;
const NO_REASONING = { unless: { id: "reasoning", value: "none" } } as const;

/**
 * The source of all model lists. It covers differences that break clients: an id that ends in `-fast` or `-max` without
 * being a variant, levels with and without thinking, no images, a small window.
 */
export const MODELS: readonly SimModel[] = [
  {
    id: "default",
    displayName: "Auto",
    shortName: "Auto",
    description: "Picks a model for the task",
    aliases: ["auto"],
    contextTokens: 200_000,
    supportsImages: true,
    thinking: "never",
    parameters: [],
  },
  {
    id: "composer-2.5",
    displayName: "Composer 2.5",
    shortName: "Composer 2.5",
    description: "Quick at coding",
    aliases: ["composer"],
    contextTokens: 200_000,
    supportsImages: true,
    thinking: "always",
    parameters: [FAST],
  },
  {
    id: "claude-opus-4-8",
    displayName: "Claude Opus 4.8",
    shortName: "Opus 4.8",
    description: "Strong at long tasks",
    aliases: ["opus", "opus-4.8"],
    contextTokens: 200_000,
    maxModeContextTokens: 1_000_000,
    supportsImages: true,
    thinking: NO_THINKING,
    parameters: [THINKING, levels("effort", ["low", "medium", "high", "xhigh", "max"], "high"), FAST],
  },
  {
    id: "claude-sonnet-5",
    displayName: "Claude Sonnet 5",
    shortName: "Sonnet 5",
    description: "Strong at everyday coding",
    aliases: ["sonnet", "sonnet-5"],
    contextTokens: 200_000,
    maxModeContextTokens: 1_000_000,
    supportsImages: true,
    thinking: NO_THINKING,
    parameters: [THINKING, levels("effort", ["low", "medium", "high", "xhigh", "max"], "medium")],
  },
  {
    id: "claude-4.5-sonnet",
    displayName: "Claude 4.5 Sonnet",
    shortName: "Sonnet 4.5",
    description: "With and without thinking",
    aliases: ["sonnet-4.5"],
    contextTokens: 200_000,
    maxModeContextTokens: 1_000_000,
    supportsImages: true,
    thinking: NO_THINKING,
    parameters: [{ ...THINKING, defaultValue: "false" }],
  },
  {
    id: "gpt-5.5",
    displayName: "GPT-5.5",
    shortName: "GPT-5.5",
    description: "Reasons as much as it is told to",
    aliases: ["gpt"],
    contextTokens: 272_000,
    maxModeContextTokens: 922_000,
    supportsImages: true,
    thinking: NO_REASONING,
    parameters: [levels("reasoning", ["none", "low", "medium", "high", "extra-high"], "medium"), FAST],
  },
  {
    id: "gpt-5.4-mini",
    displayName: "GPT-5.4 Mini",
    shortName: "GPT-5.4 Mini",
    description: "Small, with a small window",
    aliases: ["gpt-mini"],
    contextTokens: 32_000,
    supportsImages: true,
    thinking: NO_REASONING,
    parameters: [levels("reasoning", ["none", "low", "medium", "high", "xhigh"], "medium")],
  },
  {
    id: "gpt-5.1-codex-max",
    displayName: "GPT-5.1 Codex Max",
    shortName: "Codex Max",
    description: "For long coding sessions",
    aliases: [],
    contextTokens: 272_000,
    supportsImages: true,
    thinking: "always",
    parameters: [],
  },
  {
    id: "gemini-3.1-pro",
    displayName: "Gemini 3.1 Pro",
    shortName: "Gemini 3.1 Pro",
    description: "Always thinks",
    aliases: ["gemini"],
    contextTokens: 200_000,
    maxModeContextTokens: 1_000_000,
    supportsImages: true,
    thinking: "always",
    parameters: [],
  },
  {
    id: "glm-5.2",
    displayName: "GLM 5.2",
    shortName: "GLM 5.2",
    description: "Text only",
    aliases: ["glm"],
    contextTokens: 128_000,
    supportsImages: false,
    thinking: "always",
    parameters: [levels("effort", ["high", "max"], "high")],
  },
  {
    id: "grok-code-fast-1",
    displayName: "Grok Code Fast 1",
    shortName: "Grok Code",
    description: "Plain and quick",
    aliases: ["grok"],
    contextTokens: 256_000,
    supportsImages: false,
    thinking: "never",
    parameters: [],
  },
];
