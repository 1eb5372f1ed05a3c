import { homedir } from "node:os";
import { join } from "node:path";
import { Secret } from "../../core/secret.ts";
import { readSmallFile } from "../../files/read-small-file.ts";
import { givenSecrets } from "../given-secrets.ts";
import type { LoadedConfig } from "../load-config.ts";

const KEY_FILES = ["key", "bridge-key", "path-secret"] as const;
const MAX_KEY_BYTES = 4096;

/** Returns the secrets of the settings, of the environment and of the key files. */
export function ownSecrets({ values, home }: Pick<LoadedConfig, "values" | "home">): readonly string[] {
  const kept = KEY_FILES.map((name) => readSmallFile(join(home, name), MAX_KEY_BYTES)?.trim() ?? "");
  return [...secretsIn(values), ...givenSecrets(), ...kept];
}

/** What is masked only where a capture is shown or given away: it names a person. */
export const ownFolders = (home: string): readonly string[] => [homedir(), home];

function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}
