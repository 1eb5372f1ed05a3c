import type { LoadedSettings } from "./load-settings.ts";

/** One setting as `excursor config` shows it. */
export interface ExplainedSetting {
  readonly key: string;
  /** Undefined where it is not set and has no default. Secrets say only that they are there. */
  readonly value: unknown;
  readonly origin: string;
  readonly variable: string;
  readonly help: string;
  readonly expected: string;
}

/** Every setting with its value and where that came from; fit to be shown to anybody. */
export function explainConfig({ values, settings, origins }: LoadedSettings<object>): readonly ExplainedSetting[] {
  return settings.map(({ key, variable, setting }) => {
    const value = valueAt(values, key);
    return {
      key,
      value: setting.isSecret && value !== undefined ? "[redacted]" : value,
      origin: origins.get(key) ?? "",
      variable,
      help: setting.help,
      expected: setting.expected,
    };
  });
}

const valueAt = (tree: object, key: string): unknown =>
  key.split(".").reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], tree);
