import type { LoadedSettings } from "./load-settings.ts";

export interface ExplainedSetting {
  readonly key: string;
  /** Undefined if it is not set and has no default. Secrets are redacted. */
  readonly value: unknown;
  readonly origin: string;
  readonly variable: string;
  readonly help: string;
  readonly expected: string;
}

/** Returns every setting with its value and origin. The result has no secrets. */
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
