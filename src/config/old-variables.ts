import type { LoadedSettings } from "./load-settings.ts";

/** Variables of similar programs, and the setting that replaces each. */
const OLD_VARIABLES = [
  { name: "PORT", key: "port", variable: "EXCURSOR_PORT" },
  { name: "CURSOR_URL", key: "upstream", variable: "EXCURSOR_UPSTREAM" },
  { name: "CURSOR_CHECKSUM", key: "checksum", variable: "EXCURSOR_CHECKSUM" },
] as const;

/** Returns a warning about such variables that are set, unless their setting is given in another way. */
export function warnOfOldVariables(
  { origins }: Pick<LoadedSettings<unknown>, "origins">,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const unread = OLD_VARIABLES.filter(
    ({ name, key }) => environment[name] && (origins.get(key) ?? "default") === "default",
  );
  if (unread.length === 0) return undefined;
  const pairs = unread.map(({ name, variable }) => `${name} (use ${variable})`);
  return `These environment variables have no effect: ${pairs.join(", ")}. See docs/migrating.md.`;
}
